package dynamo

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/usage"
)

// An admission is one conditional update of the month's item, which holds all that decides:
// the month's count, the day's, and the rate's theoretical arrival time (TAT). DynamoDB
// has no max(), so the rate needs one of two forms of the update: a full bucket starts from
// now, one in use from its TAT. Their conditions exclude one another. The likelier one goes
// first, by what this instance last saw of the meter; where it was the wrong one, the item
// that comes back with the failed condition says so, and the other is sent. The first call
// of a month finds no TAT, and takes over the one of the month before, which is read then.
// Instances whose clocks differ turn to the new month at different moments: until the last
// has, a key's two months have a bucket each.
//
// An update is not idempotent, so a write that got no answer must not be repeated as it
// was. Each write therefore leaves its admission ID in one of six slots of the item, chosen
// by the ID. IDs are ordered by time. So a repetition can demand that the slot hold an ID
// older than ours: that proves that ours was not applied before. If the condition fails and
// the slot holds our ID, it was applied. If the slot holds a newer ID, that one may have
// replaced ours: nothing can be known, and the call is denied.
//
// One case defeats this: a write that is delayed on its way, and lands after its own
// repetition and after another admission took over the slot. It charges its unit a second
// time, if the limits still have room for it; it admits nobody. An instance whose clock
// runs slow by more than clockSkew can also hide an applied write by an ID that looks
// older, with the same effect. More is never admitted than was charged.

const (
	slots = 6
	// maxSends bounds the writes of one admission, maxUnclear those without an answer and
	// maxBusy those that were turned away: at the wall of an item (1,000 writes a second)
	// more of them would only keep it there.
	maxSends   = 6
	maxUnclear = 3
	maxBusy    = 3
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
	// id is what the slot holds: the admission ID without its prefix, for a short item.
	id, slot string
	// floor is the smallest id that may have been applied after this one was made.
	floor string
	form  form
	// before is the TAT of the month before, for the form first.
	before int64
}

// form of the update, by the state of the rate's bucket that it is for.
type form int

const (
	full  form = iota // its TAT has passed
	inUse             // its TAT lies ahead
	first             // it has none yet in this month
)

// formFor returns the form that an item needs.
func (c charge) formFor(i item) form {
	switch tat, ok := i.number(attrTAT); {
	case !ok:
		return first
	case tat > c.At.UnixNano():
		return inUse
	}
	return full
}

func newCharge(a usage.Admission, table string) (charge, error) {
	made, ok := usage.AdmissionTime(a.ID)
	if !ok {
		return charge{}, fmt.Errorf("admission ID %q is malformed", a.ID)
	}
	if usage.DayOf(made) != a.Day() {
		return charge{}, fmt.Errorf("admission ID %q was not made on %s", a.ID, a.Day())
	}
	if a.Units < 1 {
		return charge{}, fmt.Errorf("units must be at least 1, not %d", a.Units)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.ID))
	return charge{
		Admission: a, table: table, id: slotID(a.ID),
		slot:  "s" + strconv.Itoa(int(h.Sum32()%slots)),
		floor: slotID(usage.AdmissionFloor(made.Add(-clockSkew))),
	}, nil
}

func slotID(admission string) string { return strings.TrimPrefix(admission, usage.AdmissionIDPrefix) }

// Admit makes one write, granted or denied. A second one is made where the rate's bucket
// went from full to in use, or back, since this instance last saw it; more, where answers
// fail to come.
func (s meters) Admit(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	c, err := newCharge(a, s.tables.Usage)
	if err != nil {
		return usage.Decision{}, err
	}
	if _, d := a.Decide(usage.State{}); !d.Admitted {
		return s.denyUnasked(ctx, a)
	}
	if s.seen.tat(a.Meter) > a.At.UnixNano() {
		c.form = inUse
	}
	d, err := s.charge(ctx, c)
	if errors.Is(err, usage.ErrUnclear) && ctx.Err() == nil {
		s.takeBack(ctx, c)
	}
	if err != nil {
		return usage.Decision{}, fmt.Errorf("charge meter %s: %w", a.Meter, err)
	}
	if a.Limits.Rated() {
		s.seen.note(a.Meter, d.TAT, a.At.UnixNano())
	}
	return d, nil
}

// denyUnasked denies what no count could admit. A read costs a fifth of a failed write.
func (s meters) denyUnasked(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	old, err := s.get(ctx, s.tables.Usage, meterKey(a.Meter, a.Period()))
	if err != nil {
		return usage.Decision{}, fmt.Errorf("read meter %s: %w", a.Meter, err)
	}
	_, d := a.Decide(stateOf(old, a.Day()))
	return d, nil
}

// charge sends the write until an answer is clear, attempts or time run out.
func (s meters) charge(ctx context.Context, c charge) (usage.Decision, error) {
	if err := ctx.Err(); err != nil {
		return usage.Decision{}, err
	}
	unclearSends, busySends, pauses := 0, 0, 0
	var last error
	for sends := 1; sends <= maxSends && unclearSends < maxUnclear && busySends < maxBusy; sends++ {
		if last != nil {
			if pauses++; !wait(ctx, pauses, s.Jitter) {
				break
			}
		}
		again := unclearSends > 0
		attrs, err := s.send(ctx, c.input(again))
		switch judge(err) {
		case applied:
			return c.admitted(attrs)
		case conditionFail:
			old, readErr := s.oldItem(ctx, c, again, err)
			if readErr != nil {
				return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrUnclear, readErr)
			}
			d, verdict := c.read(old, again)
			if verdict == notApplied {
				d, verdict, readErr = s.reform(ctx, &c, old)
			}
			switch {
			case readErr != nil:
				return usage.Decision{}, readErr
			case verdict == applied:
				return d, nil
			case verdict == notApplied:
				last = nil
				continue
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
			if turnedAway(err) {
				busySends++
			}
		}
		last = err
	}
	switch {
	case unclearSends > 0:
		return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrUnclear, last)
	case last == nil:
		return usage.Decision{}, errors.New("others changed the meter between each of the writes")
	case turnedAway(last):
		return usage.Decision{}, fmt.Errorf("%w: %w", usage.ErrBusy, last)
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
	names := map[string]string{"#used": attrUsed, "#day": dayAttr(c.Day()), "#slot": c.slot, "#exp": expiresAt}
	values := item{":u": number(c.Units), ":id": text(c.id), ":exp": second(c.Period().Reset().Add(usage.RetainCounters))}
	add, set := "ADD #used :u, #day :u", " SET #slot = :id, #exp = :exp"
	condition := "(attribute_not_exists(#slot) OR (#slot <> :id AND #slot <> :gone))"
	if again {
		condition = "(attribute_not_exists(#slot) OR #slot < :floor)"
		values[":floor"] = text(c.floor)
	} else {
		values[":gone"] = text(c.id + takenBack)
	}
	// A count that doesn't exist yet can't be compared (aws-sdk-go#2394).
	if l := c.Limits.Monthly; l != usage.Unlimited {
		condition += " AND (attribute_not_exists(#used) OR #used <= :room)"
		values[":room"] = number(int64(l) - c.Units)
	}
	if l := c.Limits.Daily; l != usage.Unlimited {
		condition += " AND (attribute_not_exists(#day) OR #day <= :dayroom)"
		values[":dayroom"] = number(int64(l) - c.Units)
	}
	if c.Operation != "" {
		names["#op"] = charged + c.Operation
		add += ", #op :u"
	}
	if c.Limits.Rated() {
		names["#tat"] = attrTAT
		set += ", #tat = " + c.tat(values)
		condition += " AND " + c.tatCondition(values)
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &c.table,
		Key:                                 key(meterKey(c.Meter, c.Period())),
		UpdateExpression:                    aws.String(add + set),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueUpdatedNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// tat is what the form sets the rate's state to.
func (c charge) tat(values item) string {
	now, interval := c.At.UnixNano(), c.Limits.Rate.Interval()
	if c.form == inUse {
		values[":interval"] = number(interval)
		return "#tat + :interval"
	}
	values[":next"] = number(max(now, c.before) + interval)
	return ":next"
}

func (c charge) tatCondition(values item) string {
	now := c.At.UnixNano()
	switch c.form {
	case first:
		return "attribute_not_exists(#tat)"
	case inUse:
		values[":now"], values[":last"] = number(now), number(now+c.Limits.Rate.Tolerance())
		return "#tat > :now AND #tat <= :last"
	}
	values[":now"] = number(now)
	return "#tat <= :now"
}

// admitted reads the answer to an applied write.
func (c charge) admitted(attrs item) (usage.Decision, error) {
	if _, ok := attrs.number(attrUsed); !ok {
		return usage.Decision{}, errors.New("the answer holds no count")
	}
	return usage.Decision{Admitted: true, State: stateOf(attrs, c.Day())}, nil
}

// oldItem is the item as it was when the condition failed. It does not come back where it
// doesn't exist: that is taken for the reason where it can be one. At times it doesn't come
// back though it exists (aws-sdk-go-v2#2600): then it is read.
func (s meters) oldItem(ctx context.Context, c charge, again bool, err error) (item, error) {
	old, _ := conditionFailed(err)
	if old != nil || c.Limits.Rated() && c.form != first && !again {
		return old, nil
	}
	return s.get(ctx, c.table, meterKey(c.Meter, c.Period()))
}

// read finds out why the condition failed: applied is a decision, notApplied asks for another
// form of the write, and unclear is what it says.
func (c charge) read(old item, again bool) (usage.Decision, verdict) {
	state, slot := stateOf(old, c.Day()), old.text(c.slot)
	switch slot {
	case c.id:
		return usage.Decision{Admitted: true, State: state, Unseen: true}, applied
	case c.id + takenBack:
		return usage.Decision{}, unclear
	}
	if again && slot >= c.floor {
		return usage.Decision{}, unclear
	}
	_, d := c.Decide(state)
	switch {
	case !d.Admitted:
		return d, applied
	case c.Limits.Rated() && c.form != c.formFor(old):
		return usage.Decision{}, notApplied
	}
	return usage.Decision{}, unclear
}

// reform changes to the form that the item needs. The TAT of the month before may deny.
func (s meters) reform(ctx context.Context, c *charge, old item) (usage.Decision, verdict, error) {
	if c.form = c.formFor(old); c.form != first {
		return usage.Decision{}, notApplied, nil
	}
	before, err := s.get(ctx, c.table, meterKey(c.Meter, c.Period().Before(1)))
	if err != nil {
		return usage.Decision{}, unclear, fmt.Errorf("read the month before: %w", err)
	}
	c.before, _ = before.number(attrTAT)
	state := stateOf(old, c.Day())
	state.TAT = c.before
	if _, d := c.Decide(state); !d.Admitted {
		return d, applied, nil
	}
	return usage.Decision{}, notApplied, nil
}

// takeBack returns the units of an admission that is denied because nobody knows whether
// it was applied. It works if the slot still tells, and marks the slot, so that neither
// this nor a late write of the admission is applied after it. It is a courtesy: whether it
// worked changes nothing for the caller. The place in the rate stays taken.
func (s meters) takeBack(ctx context.Context, c charge) {
	add := "ADD #used :less, #day :less"
	names := map[string]string{"#used": attrUsed, "#day": dayAttr(c.Day()), "#slot": c.slot}
	if c.Operation != "" {
		names["#op"] = charged + c.Operation
		add += ", #op :less"
	}
	_, _ = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &c.table,
		Key:                      key(meterKey(c.Meter, c.Period())),
		UpdateExpression:         aws.String(add + " SET #slot = :gone"),
		ConditionExpression:      aws.String("#slot = :id AND #used >= :u AND #day >= :u"),
		ExpressionAttributeNames: names,
		ExpressionAttributeValues: item{
			":u": number(c.Units), ":less": number(-c.Units), ":id": text(c.id), ":gone": text(c.id + takenBack),
		},
	})
}
