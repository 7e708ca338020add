package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/usage"
)

// maxMarkers is how many calls are refunded in one transaction: DynamoDB takes 100 writes
// in one, and one of them is the meter's.
const maxMarkers = 99

// Refund makes one transaction for up to 99 calls: the marker of each admission, which must
// not be there yet, and all their units off the meter. The markers make it idempotent,
// whoever repeats it. After an unclear failure the repetition may answer AlreadyRefunded for
// what it did itself. Once the cap is met, the calls that it holds back are no longer asked
// about: they answer CapReached, also those that were refunded before or never charged.
func (s meters) Refund(ctx context.Context, r usage.Refund) ([]usage.Outcome, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	outcomes := make([]usage.Outcome, len(r.Calls))
	free := int64(-1) // of the period so far, once an answer has said it: it only grows
	for next := 0; next < len(r.Calls); {
		part, places := r, make([]int, 0, maxMarkers)
		part.Calls = nil
		for ; next < len(r.Calls) && len(places) < maxMarkers; next++ {
			if c := r.Calls[next]; free >= 0 && r.OverCap(free, c) {
				outcomes[next] = usage.CapReached
			} else {
				part.Calls, places = append(part.Calls, c), append(places, next)
			}
		}
		o, err := s.refund(ctx, part, &free)
		if err != nil {
			return outcomes, fmt.Errorf("refund to meter %s: %w", r.Meter, err)
		}
		for i, at := range places {
			outcomes[at] = o[i]
		}
	}
	return outcomes, nil
}

// refund tries the calls all together. What was refunded before, is over the cap or was
// never charged fails the transaction, which says so; it is repeated without them. free is set
// to what the period has given back by then, where an answer says so.
func (s meters) refund(ctx context.Context, r usage.Refund, free *int64) ([]usage.Outcome, error) {
	outcomes := make([]usage.Outcome, len(r.Calls))
	done := map[string]bool{}
	open := firstOfEach(r.Calls)
	for len(open) > 0 {
		cancelled, err := s.tryRefund(ctx, r, open)
		if err != nil {
			return nil, err
		}
		if cancelled == nil {
			break
		}
		for i, at := range open {
			if failed(cancelled[i]) {
				done[r.Calls[at].AdmissionID] = true
			}
		}
		var balance *usage.Balance
		if last := cancelled[len(open)]; failed(last) {
			if balance, err = s.balance(ctx, r, last.Item); err != nil {
				return nil, err
			}
			*free = balance.Free
		}
		if open, err = without(r, open, outcomes, done, balance); err != nil {
			return nil, err
		}
	}
	for _, at := range open {
		outcomes[at] = usage.Refunded
	}
	sameAsFirst(r.Calls, outcomes)
	return outcomes, nil
}

// firstOfEach returns the places of the calls to try; a transaction can't write a marker twice.
func firstOfEach(calls []usage.FailedCall) (open []int) {
	seen := map[string]bool{}
	for i, c := range calls {
		if !seen[c.AdmissionID] {
			open = append(open, i)
		}
		seen[c.AdmissionID] = true
	}
	return open
}

// sameAsFirst sets the outcomes of the calls that firstOfEach left out.
func sameAsFirst(calls []usage.FailedCall, outcomes []usage.Outcome) {
	first := map[string]usage.Outcome{}
	for i, c := range calls {
		o, again := first[c.AdmissionID]
		if !again {
			first[c.AdmissionID] = outcomes[i]
			continue
		}
		if o == usage.Refunded {
			o = usage.AlreadyRefunded
		}
		outcomes[i] = o
	}
}

// without decides which of the open calls are worth another try, and sets the outcomes of
// the others. balance is nil where the meter had no objection.
func without(r usage.Refund, open []int, outcomes []usage.Outcome, done map[string]bool, balance *usage.Balance) (still []int, err error) {
	asked := r
	asked.Calls = nil
	for _, at := range open {
		asked.Calls = append(asked.Calls, r.Calls[at])
	}
	decided := make([]usage.Outcome, len(open))
	if balance != nil {
		balance.Done = done
		decided = asked.Decide(*balance)
	}
	for i, at := range open {
		switch {
		case done[r.Calls[at].AdmissionID]:
			outcomes[at] = usage.AlreadyRefunded
		case decided[i] == usage.CapReached || decided[i] == usage.NothingCharged:
			outcomes[at] = decided[i]
		default:
			still = append(still, at)
		}
	}
	if len(still) == len(open) {
		return nil, fmt.Errorf("the transaction of %d calls failed, and nothing says why", len(open))
	}
	return still, nil
}

func (s meters) tryRefund(ctx context.Context, r usage.Refund, open []int) ([]types.CancellationReason, error) {
	writes := make([]types.TransactWriteItem, 0, len(open)+1)
	calls := make([]usage.FailedCall, 0, len(open))
	for _, at := range open {
		calls = append(calls, r.Calls[at])
		writes = append(writes, types.TransactWriteItem{Put: s.marker("refund#"+r.Calls[at].AdmissionID, r.Period)})
	}
	return s.transact(ctx, append(writes, types.TransactWriteItem{Update: s.discharge(r, calls)})...)
}

// marker is an item that can be put once.
func (s meters) marker(name string, p usage.Period) *types.Put {
	return &types.Put{
		TableName: &s.tables.Usage,
		Item: item{
			pk:        text(name),
			expiresAt: second(p.Reset().Add(usage.RetainRefunds)),
		},
		ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
		ExpressionAttributeNames: map[string]string{"#pk": pk},
	}
}

// discharge takes the units of calls off the meter.
func (s meters) discharge(r usage.Refund, calls []usage.FailedCall) *types.Update {
	var all, free int64
	days, operations := map[string]int64{}, map[string]int64{}
	for _, c := range calls {
		day, _ := c.Day() // checked
		all += c.Units
		days[dayAttr(day)] += c.Units
		if c.Operation != "" {
			operations[givenBack+c.Operation] += c.Units
		}
		if !c.Unstarted {
			free += c.Units
		}
	}
	u := update{names: map[string]string{}, values: item{}}
	u.add("#used", attrUsed, -all)
	condition := "#used >= :all"
	u.values[":all"] = number(all)
	for i, name := range slices.Sorted(maps.Keys(days)) {
		n := strconv.Itoa(i)
		u.add("#d"+n, name, -days[name])
		condition += " AND #d" + n + " >= :d" + n
		u.values[":d"+n] = number(days[name])
	}
	for i, name := range slices.Sorted(maps.Keys(operations)) {
		u.add("#o"+strconv.Itoa(i), name, operations[name])
	}
	if all > free {
		u.add("#unstarted", attrUnstarted, all-free)
	}
	if free > 0 {
		u.add("#refunded", attrRefunded, free)
		condition += u.below("#refunded", r.Cap, free)
	}
	return &types.Update{
		TableName:                           &s.tables.Usage,
		Key:                                 key(meterKey(r.Meter, r.Period)),
		UpdateExpression:                    aws.String("ADD " + u.adds),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            u.names,
		ExpressionAttributeValues:           u.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// update is an update expression in the making.
type update struct {
	adds   string
	names  map[string]string
	values item
}

func (u *update) add(placeholder, attribute string, n int64) {
	if u.adds != "" {
		u.adds += ", "
	}
	value := ":a" + placeholder[1:]
	u.adds += placeholder + " " + value
	u.names[placeholder], u.values[value] = attribute, number(n)
}

// below is the condition that n more stay within the cap.
func (u *update) below(placeholder string, limit usage.Limit, n int64) string {
	if limit == usage.Unlimited {
		return ""
	}
	room := int64(limit) - n
	u.values[":room"] = number(room)
	if room < 0 {
		return " AND " + placeholder + " <= :room" // never true: also the first is too much
	}
	return " AND (attribute_not_exists(" + placeholder + ") OR " + placeholder + " <= :room)"
}

// balance reads the item that came back with the failed condition. It can be missing from
// the answer though it exists: then it takes a read.
func (s meters) balance(ctx context.Context, r usage.Refund, old item) (*usage.Balance, error) {
	if old == nil {
		var err error
		if old, err = s.get(ctx, s.tables.Usage, meterKey(r.Meter, r.Period)); err != nil {
			return nil, fmt.Errorf("read meter %s: %w", r.Meter, err)
		}
	}
	c := countsOf(old, r.Period)
	return &usage.Balance{Used: c.Used, Days: c.Days, Free: c.Refunded - c.Unstarted}, nil
}
