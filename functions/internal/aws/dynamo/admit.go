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

// An admission is one conditional ADD. ADD is not idempotent, so a write that got no
// answer must not be repeated as it was. Each write therefore leaves its admission ID in
// one of six slots of the item, chosen by the ID. IDs are ordered by time. So a repetition
// can demand that the slot hold an ID older than ours: that proves that ours was not
// applied before. If the condition fails and the slot holds our ID, it was applied. If the
// slot holds a newer ID, that one may have replaced ours: nothing can be known, and the
// call is denied.
//
// What gets over all of this: a write that is delayed on its way, lands after its own
// repetition, and after other admissions took over the slot. It charges its unit a second
// time, if the limit still has room for it; it admits nobody. An instance whose clock is
// late by more than clockSkew can also hide an applied write by an ID that looks older,
// with the same effect. More is never admitted than was charged.

const (
	slots = 6
	// maxSends bounds the writes of one admission, maxUnclear those without an answer.
	maxSends   = 6
	maxUnclear = 3
	// clockSkew is how far the clocks of two instances may differ.
	clockSkew = time.Second
	// takenBack follows an ID in its slot when its units were taken back.
	takenBack = "-"
)

type meters struct{ *Store }

// charge is the write of one admission.
type charge struct {
	usage.Admission
	table string
	slot  string
	// floor is the smallest ID that may have been applied after this one was made.
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

// Admit makes one write, granted or denied. Only an answer that fails to come leads to more.
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

// denyUnasked denies what no count could admit. A read costs a fifth of a failed write.
func (s meters) denyUnasked(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	old, err := s.get(ctx, s.tables.Usage, meterKey(a.Meter, a.Period))
	if err != nil {
		return usage.Decision{}, fmt.Errorf("read meter %s: %w", a.Meter, err)
	}
	used, _ := old.number(attrUsed)
	return usage.Decision{Used: used}, nil
}

// charge sends the write until an answer is clear, attempts or time run out.
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
		case notApplied: // again, as it was
		}
		last = err
	}
	if unclearSends > 0 {
		return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrUnclear, last)
	}
	return usage.Decision{}, last
}

// send writes once: the SDK must not repeat it. Half of the time that is left is kept for
// finding out what became of a write without an answer.
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

// input is the write. again says that one of unknown fate went before.
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
		// An item that doesn't exist yet has no count to compare (aws-sdk-go#2394).
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

// read finds out why the condition failed. ok is false if the item doesn't tell.
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

// takeBack returns the units of an admission that is denied because nobody knows whether
// it was applied. It works if the slot still tells, and marks the slot, so that neither
// this nor a late write of the admission is applied after it. It is a courtesy: whether it
// worked changes nothing for the caller.
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
