package dynamo

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is an item's attributes, or an expression's values.
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

// text returns a string attribute, "" if it is missing.
func (i item) text(name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// texts returns a string set, in no particular order.
func (i item) texts(name string) []string {
	if v, ok := i[name].(*types.AttributeValueMemberSS); ok {
		return v.Value
	}
	return nil
}

// number returns a numeric attribute. ok is false if it is missing or not an int64.
func (i item) number(name string) (n int64, ok bool) {
	v, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	return n, err == nil
}

// instant returns an attribute in milliseconds as a time, zero if it is missing.
func (i item) instant(name string) time.Time {
	n, ok := i.number(name)
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
