package dynamo

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is the attributes of an item, or the values of an expression.
type item map[string]types.AttributeValue

const (
	pk        = "pk"
	expiresAt = "expires_at"
)

func key(value string) item { return item{pk: text(value)} }

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func texts(list []string) types.AttributeValue { return &types.AttributeValueMemberSS{Value: list} }

func second(t time.Time) types.AttributeValue { return number(t.Unix()) }

func milli(t time.Time) types.AttributeValue { return number(t.UnixMilli()) }

// text returns an attribute, "" where it is missing.
func (i item) text(name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// texts returns a set, which has no order.
func (i item) texts(name string) []string {
	if v, ok := i[name].(*types.AttributeValueMemberSS); ok {
		return v.Value
	}
	return nil
}

// number returns an attribute, 0 where it is missing. ok is false then, and for a number
// that is no int64.
func (i item) number(name string) (n int64, ok bool) {
	v, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	return n, err == nil
}

// instant returns an attribute of milliseconds, zero where it is missing.
func (i item) instant(name string) time.Time {
	n, ok := i.number(name)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
