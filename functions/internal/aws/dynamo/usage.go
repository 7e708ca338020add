package dynamo

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/usage"
)

// Attributes of a meter. A day has one, d01 to d31; an operation one of each prefix. Their
// names are short because a write of up to 1 KB costs one unit, and one of 1 KB and a byte
// two.
const (
	attrUsed      = "used"
	attrRefunded  = "refunded" // what the cap on free failures counts
	attrUnstarted = "unstarted"
	attrDenied    = "denied"
	attrTAT       = "tat"
	charged       = "+"
	givenBack     = "-"
)

func meterKey(meter string, p usage.Period) string { return "meter#" + meter + "#" + p.String() }

func dayAttr(d usage.Day) string { return fmt.Sprintf("d%02d", d.Number()) }

// dayOf reads the name of a day's attribute.
func dayOf(name string, p usage.Period) (usage.Day, bool) {
	digits, found := strings.CutPrefix(name, "d")
	number, err := strconv.Atoi(digits)
	if !found || err != nil {
		return usage.Day{}, false
	}
	return p.Day(number)
}

// stateOf reads what an admission depends on; a missing item is all zeros.
func stateOf(i item, d usage.Day) (s usage.State) {
	s.Used, _ = i.number(attrUsed)
	s.Today, _ = i.number(dayAttr(d))
	s.TAT, _ = i.number(attrTAT)
	return s
}

// AddDenied may count twice after an unclear failure; the figure decides nothing.
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

// Counts is a strongly consistent read, so that a caller sees the call that was just made:
// of one item, or of all in one request.
func (s meters) Counts(ctx context.Context, meter string, periods ...usage.Period) ([]usage.Counts, error) {
	items, err := s.months(ctx, meter, periods)
	if err != nil {
		return nil, fmt.Errorf("read meter %s: %w", meter, err)
	}
	counts := make([]usage.Counts, len(periods))
	for i, p := range periods {
		counts[i] = countsOf(items[meterKey(meter, p)], p)
	}
	return counts, nil
}

// months reads the items of a meter, by their keys. BatchGetItem takes a hundred.
func (s meters) months(ctx context.Context, meter string, periods []usage.Period) (map[string]item, error) {
	found := map[string]item{}
	if len(periods) == 1 {
		i, err := s.get(ctx, s.tables.Usage, meterKey(meter, periods[0]))
		found[meterKey(meter, periods[0])] = i
		return found, err
	}
	var wanted []string
	for _, p := range periods {
		wanted = append(wanted, meterKey(meter, p))
	}
	err := s.getAll(ctx, s.tables.Usage, wanted, func(i item) error {
		found[i.text(pk)] = i
		return nil
	})
	return found, err
}

func countsOf(i item, p usage.Period) usage.Counts {
	c := usage.Counts{Days: map[usage.Day]int64{}, Operations: map[string]usage.OperationCounts{}}
	c.Used, _ = i.number(attrUsed)
	c.Unstarted, _ = i.number(attrUnstarted)
	c.Refunded, _ = i.number(attrRefunded)
	c.Refunded += c.Unstarted
	c.Denied, _ = i.number(attrDenied)
	c.TAT, _ = i.number(attrTAT)
	for name := range i {
		n, _ := i.number(name)
		if day, ok := dayOf(name, p); ok && n != 0 {
			c.Days[day] = n
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

// Once puts a marker. After an unclear failure the SDK's repetition may find its own and
// answer false: then it is nobody's first time.
func (s meters) Once(ctx context.Context, name string, p usage.Period) (bool, error) {
	m := s.marker(onceKey(name, p), p)
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: m.TableName, Item: m.Item,
		ConditionExpression: m.ConditionExpression, ExpressionAttributeNames: m.ExpressionAttributeNames,
	})
	if _, failed := conditionFailed(err); failed {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("mark %s: %w", name, err)
	}
	return true, nil
}

// Again deletes the marker.
func (s meters) Again(ctx context.Context, name string, p usage.Period) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &s.tables.Usage, Key: key(onceKey(name, p))})
	if err != nil {
		return fmt.Errorf("unmark %s: %w", name, err)
	}
	return nil
}

func onceKey(name string, p usage.Period) string { return "once#" + name + "#" + p.String() }
