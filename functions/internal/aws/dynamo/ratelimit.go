package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/ratelimit"
)

// retainDay is when TTL removes a day's state: nobody asks for a day that is over.
const retainDay = 3 * 24 * time.Hour

type buckets struct{ *Store }

// Take makes one write if the bucket is idle or it refuses, two to queue behind others.
func (s buckets) Take(ctx context.Context, bucket string, l ratelimit.Limit, now time.Time, maxWait time.Duration) (ratelimit.Slot, error) {
	slot, err := s.take(ctx, bucket, l, now.UnixNano(), maxWait)
	if err != nil {
		return ratelimit.Slot{}, fmt.Errorf("take a place in bucket %s: %w", bucket, err)
	}
	return slot, nil
}

func (s buckets) take(ctx context.Context, bucket string, l ratelimit.Limit, now int64, maxWait time.Duration) (ratelimit.Slot, error) {
	idle := item{":now": number(now), ":next": number(now + l.Interval())}
	kept := time.Unix(0, now).Add(l.Retention(maxWait))
	tat, old, err := s.advance(ctx, bucket, kept, "#tat = :next", "attribute_not_exists(#tat) OR #tat <= :now", idle)
	if err != nil || old == nil {
		return l.Booked(tat, now), err
	}
	if tat, known := old.number("tat"); known {
		if _, slot := l.Decide(tat, now, maxWait); !slot.OK {
			return slot, nil
		}
	}
	last := now + l.Tolerance() + int64(maxWait)
	busy := item{":now": number(now), ":interval": number(l.Interval()), ":last": number(last)}
	tat, old, err = s.advance(ctx, bucket, kept, "#tat = #tat + :interval", "#tat > :now AND #tat <= :last", busy)
	if err != nil || old == nil {
		return l.Booked(tat, now), err
	}
	// tat never decreases, so both conditions now fail for good: refuse.
	tat, known := old.number("tat")
	if !known {
		if old, err = s.get(ctx, s.tables.Usage, "bucket#"+bucket); err != nil {
			return ratelimit.Slot{}, err
		}
		tat, _ = old.number("tat")
	}
	return ratelimit.Slot{Wait: time.Duration(max(0, tat-l.Tolerance()-now))}, nil
}

// advance moves the state if the condition holds, to be kept until then, and returns the new
// one; else the old item, which is empty and not nil where the answer left it out.
func (s buckets) advance(ctx context.Context, bucket string, kept time.Time, set, condition string, values item) (tat int64, old item, err error) {
	values[":exp"] = second(kept.Add(time.Second)) // rounded up
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.tables.Usage,
		Key:                                 key("bucket#" + bucket),
		UpdateExpression:                    aws.String("SET " + set + ", #exp = :exp"),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            map[string]string{"#tat": "tat", "#exp": expiresAt},
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if old, failed := conditionFailed(err); failed {
		if old == nil {
			old = item{}
		}
		return 0, old, nil
	}
	if err != nil {
		return 0, nil, err
	}
	tat, ok := item(out.Attributes).number("tat")
	if !ok {
		return 0, nil, fmt.Errorf("the answer holds no state")
	}
	return tat, nil, nil
}

type dailies struct{ *Store }

// maxDailyRaces is high enough for many instances to change one day at the same time.
const maxDailyRaces = 100

// Update reads the day and writes it on condition that nobody else did meanwhile.
func (s dailies) Update(ctx context.Context, quota, day string, change func(ratelimit.Day) (ratelimit.Day, bool)) error {
	for n := 1; ; n++ {
		done, err := s.tryUpdate(ctx, quota, day, change)
		if err != nil {
			return fmt.Errorf("daily quota %s: %w", quota, err)
		}
		if done {
			return nil
		}
		if n == maxDailyRaces || !pause(ctx, n) {
			return fmt.Errorf("daily quota %s: gave up after %d attempts because others kept changing it", quota, n)
		}
	}
}

func (s dailies) tryUpdate(ctx context.Context, quota, day string, change func(ratelimit.Day) (ratelimit.Day, bool)) (done bool, err error) {
	name := "daily#" + quota + "#" + day
	old, err := s.get(ctx, s.tables.Usage, name)
	if err != nil {
		return false, err
	}
	var state ratelimit.Day
	if old != nil {
		if err := json.Unmarshal([]byte(old.text("state")), &state); err != nil {
			return false, err
		}
	}
	next, ok := change(state)
	if !ok {
		return true, nil
	}
	return s.putDay(ctx, name, day, old, next)
}

func (s dailies) putDay(ctx context.Context, name, day string, old item, next ratelimit.Day) (done bool, err error) {
	date, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return false, err
	}
	state, err := json.Marshal(next)
	if err != nil {
		return false, err
	}
	v, _ := old.number("v")
	in := &dynamodb.PutItemInput{
		TableName:                &s.tables.Usage,
		Item:                     item{pk: text(name), "state": text(string(state)), "v": number(v + 1), expiresAt: second(date.Add(retainDay))},
		ConditionExpression:      aws.String("attribute_not_exists(#v)"),
		ExpressionAttributeNames: map[string]string{"#v": "v"},
	}
	if old != nil {
		in.ConditionExpression = aws.String("#v = :v")
		in.ExpressionAttributeValues = item{":v": number(v)}
	}
	_, err = s.client.PutItem(ctx, in)
	if _, failed := conditionFailed(err); failed {
		return false, nil
	}
	return err == nil, err
}
