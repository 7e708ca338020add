package dynamo

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/usage"
)

// Attributes of a meter. charged and givenBack are prefixes of an operation's ID.
const (
	attrUsed     = "used"
	attrRefunded = "refunded"
	attrDenied   = "denied"
	charged      = "+"
	givenBack    = "-"
)

func meterKey(meter string, p usage.Period) string { return "meter#" + meter + "#" + p.String() }

// AddDenied may count twice after an unclear failure; the figure is for information only.
func (s meters) AddDenied(ctx context.Context, meter string, p usage.Period, n int64) error {
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.tables.Usage,
		Key:                       key(meterKey(meter, p)),
		UpdateExpression:          aws.String("ADD #denied :n SET #exp = :exp"),
		ExpressionAttributeNames:  map[string]string{"#denied": attrDenied, "#exp": expiresAt},
		ExpressionAttributeValues: item{":n": number(n), ":exp": second(p.Reset().Add(usage.RetainCounters))},
	})
	if err != nil {
		return fmt.Errorf("count denied calls of meter %s: %w", meter, err)
	}
	return nil
}

// Counts is a strongly consistent read, so that callers see the call they have just made.
func (s meters) Counts(ctx context.Context, meter string, p usage.Period) (usage.Counts, error) {
	i, err := s.get(ctx, s.tables.Usage, meterKey(meter, p))
	if err != nil {
		return usage.Counts{}, fmt.Errorf("read meter %s: %w", meter, err)
	}
	return countsOf(i), nil
}

func countsOf(i item) usage.Counts {
	c := usage.Counts{Operations: map[string]usage.OperationCounts{}}
	c.Used, _ = i.number(attrUsed)
	c.Refunded, _ = i.number(attrRefunded)
	c.Denied, _ = i.number(attrDenied)
	for name := range i {
		n, ok := i.number(name)
		if !ok {
			continue
		}
		if operation, found := strings.CutPrefix(name, charged); found {
			o := c.Operations[operation]
			o.Charged = n
			c.Operations[operation] = o
		}
		if operation, found := strings.CutPrefix(name, givenBack); found {
			o := c.Operations[operation]
			o.Refunded = n
			c.Operations[operation] = o
		}
	}
	return c
}
