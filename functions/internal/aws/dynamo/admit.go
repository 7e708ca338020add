package dynamo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/usage"
)

// An admission is one conditional ADD. ADD is not idempotent, so a write that got no answer
// must not simply be repeated. Each write therefore leaves its admission ID in one of six
// slots of the item, chosen by a hash of the ID. IDs sort by time, so a retry can require
// that the slot hold an ID older than ours, which proves that ours was not applied. If that
// condition fails and the slot holds our ID, it was applied. If the slot holds a newer ID,
// that one may have replaced ours; we can't tell, so the call doesn't run.
//
// One case defeats this: a write that is delayed in transit and arrives after its own retry,
// when other admissions have taken over the slot. It charges its units twice if the limit
// has room for them, but admits no extra call. An instance whose clock runs slow by more
// than clockSkew can have the same effect, by overwriting an applied write's slot with an ID
// that looks older. No more is ever admitted than is charged.

const (
	slots = 6
	// maxSends bounds the attempts of one admission, maxUnclear those without an answer.
	maxSends   = 6
	maxUnclear = 3
	// clockSkew is how far two instances' clocks may differ.
	clockSkew = time.Second
	// takenBack is appended to the ID in a slot once its units have been taken back.
	takenBack = "-"
)

type meters struct{ *Store }

// charge is the write of one admission.
type charge struct {
	usage.Admission
	table string
	slot  string
	// floor is the smallest ID that may have been made after this one, given clockSkew.
	floor string
}

func newCharge(a usage.Admission, table string) (charge, error) {
	made, ok := usage.AdmissionTime(a.ID)
	if !ok {
		return charge{}, fmt.Errorf("admission ID %q is malformed", a.ID)
	}
	if a.Units < 1 {
		return charge{}, fmt.Errorf("units must be at least 1, not %d", a.Units)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.ID))
	return charge{
		Admission: a, table: table,
		slot:  "s" + strconv.Itoa(int(h.Sum32()%slots)),
		floor: usage.AdmissionFloor(made.Add(-clockSkew)),
	}, nil
}

// Admit makes one write, whether the call is admitted or denied. Only a missing answer or a
// transient error leads to more.
func (s meters) Admit(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	c, err := newCharge(a, s.tables.Usage)
	if err != nil {
		return usage.Decision{}, err
	}
	if a.Limit != usage.Unlimited && int64(a.Limit) < a.Units {
		return s.denyUnasked(ctx, a)
	}
	d, err := s.charge(ctx, c)
	if errors.Is(err, usage.ErrUnclear) && ctx.Err() == nil {
		s.takeBack(ctx, c)
	}
	if err != nil {
		return usage.Decision{}, fmt.Errorf("charge meter %s: %w", a.Meter, err)
	}
	return d, nil
}

// denyUnasked denies a call that takes more units than the whole limit. It reads the count,
// at a fifth of the cost of a failed write.
func (s meters) denyUnasked(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	old, err := s.get(ctx, s.tables.Usage, meterKey(a.Meter, a.Period))
	if err != nil {
		return usage.Decision{}, fmt.Errorf("read meter %s: %w", a.Meter, err)
	}
	used, _ := old.number(attrUsed)
	return usage.Decision{Used: used}, nil
}

// charge sends the write until the answer is clear, or attempts or time run out.
func (s meters) charge(ctx context.Context, c charge) (usage.Decision, error) {
	if err := ctx.Err(); err != nil {
		return usage.Decision{}, err
	}
	unclearSends := 0
	var last error
	for sends := 1; sends <= maxSends && unclearSends < maxUnclear; sends++ {
		if sends > 1 && !pause(ctx, sends-1) {
			break
		}
		again := unclearSends > 0
		attrs, err := s.send(ctx, c.input(again))
		switch judge(err) {
		case applied:
			used, ok := attrs.number(attrUsed)
			if !ok {
				return usage.Decision{}, errors.New("the answer holds no count")
			}
			return usage.Decision{Admitted: true, Used: used}, nil
		case conditionFail:
			old, _ := conditionFailed(err)
			if d, ok := c.read(old, again); ok {
				return d, nil
			}
			return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrUnclear, err)
		case rejected:
			if again {
				return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrUnclear, err)
			}
			return usage.Decision{}, err
		case unclear:
			unclearSends++
		case notApplied: // send the same write again
		}
		last = err
	}
	if unclearSends > 0 {
		return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrUnclear, last)
	}
	return usage.Decision{}, last
}

// send writes once, without the SDK's retries. It uses at most half of the remaining time:
// the rest is for finding out what became of a write without an answer.
func (s meters) send(ctx context.Context, in *dynamodb.UpdateItemInput) (item, error) {
	wait := s.attempt
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	out, err := s.client.UpdateItem(ctx, in, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// input builds the write. again means that an earlier attempt got no answer.
func (c charge) input(again bool) *dynamodb.UpdateItemInput {
	names := map[string]string{"#used": attrUsed, "#op": charged + c.Operation, "#slot": c.slot, "#exp": expiresAt}
	values := item{":u": number(c.Units), ":id": text(c.ID), ":exp": second(c.Period.Reset().Add(usage.RetainCounters))}
	condition := "(attribute_not_exists(#slot) OR (#slot <> :id AND #slot <> :gone))"
	if again {
		condition = "(attribute_not_exists(#slot) OR #slot < :floor)"
		values[":floor"] = text(c.floor)
	} else {
		values[":gone"] = text(c.ID + takenBack)
	}
	if c.Limit != usage.Unlimited {
		// An item that doesn't exist yet has no count to compare with (aws-sdk-go#2394).
		condition += " AND (attribute_not_exists(#used) OR #used <= :room)"
		values[":room"] = number(c.room())
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &c.table,
		Key:                                 key(meterKey(c.Meter, c.Period)),
		UpdateExpression:                    aws.String("ADD #used :u, #op :u SET #slot = :id, #exp = :exp"),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// room is the highest count that leaves room for the units.
func (c charge) room() int64 { return int64(c.Limit) - c.Units }

// read works out why the condition failed. ok is false if the item doesn't reveal it.
func (c charge) read(old item, again bool) (d usage.Decision, ok bool) {
	if old == nil {
		return usage.Decision{Used: int64(c.Limit)}, !again && c.Limit != usage.Unlimited
	}
	used, _ := old.number(attrUsed)
	slot := old.text(c.slot)
	switch full := c.Limit != usage.Unlimited && used > c.room(); {
	case slot == c.ID:
		return usage.Decision{Admitted: true, Used: used}, true
	case slot == c.ID+takenBack:
		return usage.Decision{}, false
	case full && (!again || slot < c.floor):
		return usage.Decision{Used: used}, true
	}
	return usage.Decision{}, false
}

// takeBack gives back the units of an admission that fails because its outcome is unclear.
// This works only while the slot still holds the ID. It marks the slot, so that neither a
// second takeBack nor a late write of the same admission is applied. It is best effort: the
// caller's answer is the same either way.
func (s meters) takeBack(ctx context.Context, c charge) {
	_, _ = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &c.table,
		Key:                      key(meterKey(c.Meter, c.Period)),
		UpdateExpression:         aws.String("ADD #used :less, #op :less SET #slot = :gone"),
		ConditionExpression:      aws.String("#slot = :id AND #used >= :u"),
		ExpressionAttributeNames: map[string]string{"#used": attrUsed, "#op": charged + c.Operation, "#slot": c.slot},
		ExpressionAttributeValues: item{
			":u": number(c.Units), ":less": number(-c.Units), ":id": text(c.ID), ":gone": text(c.ID + takenBack),
		},
	})
}
