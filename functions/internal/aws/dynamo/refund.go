package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/usage"
)

// Refund is one transaction: it writes the admission's marker, which must not exist yet, and
// takes the units off the meter. The marker makes it idempotent. When repeated after an
// unclear failure, it may report its own refund as AlreadyRefunded.
func (s meters) Refund(ctx context.Context, r usage.Refund) (usage.Outcome, error) {
	if r.Units < 1 {
		return "", fmt.Errorf("units must be at least 1, not %d", r.Units)
	}
	cancelled, err := s.transact(ctx, types.TransactWriteItem{Put: s.marker(r)}, types.TransactWriteItem{Update: s.discharge(r)})
	if err != nil {
		return "", fmt.Errorf("refund %s to meter %s: %w", r.AdmissionID, r.Meter, err)
	}
	switch {
	case cancelled == nil:
		return usage.Refunded, nil
	case failed(cancelled[0]):
		return usage.AlreadyRefunded, nil
	}
	return s.whyKept(ctx, r, cancelled[1].Item)
}

func (s meters) marker(r usage.Refund) *types.Put {
	return &types.Put{
		TableName: &s.tables.Usage,
		Item: item{
			pk:        text("refund#" + r.AdmissionID),
			expiresAt: second(r.Period.Reset().Add(usage.RetainRefunds)),
		},
		ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
		ExpressionAttributeNames: map[string]string{"#pk": pk},
	}
}

func (s meters) discharge(r usage.Refund) *types.Update {
	condition := "#used >= :u"
	names := map[string]string{"#used": attrUsed, "#refunded": attrRefunded, "#op": givenBack + r.Operation}
	values := item{":u": number(r.Units), ":less": number(-r.Units)}
	if r.Cap != usage.Unlimited {
		room := int64(r.Cap) - r.Units
		values[":room"] = number(room)
		if room < 0 {
			condition += " AND #refunded <= :room" // never true: even one refund exceeds the cap
		} else {
			condition += " AND (attribute_not_exists(#refunded) OR #refunded <= :room)"
		}
	}
	return &types.Update{
		TableName:                           &s.tables.Usage,
		Key:                                 key(meterKey(r.Meter, r.Period)),
		UpdateExpression:                    aws.String("ADD #used :less, #refunded :u, #op :u"),
		ConditionExpression:                 &condition,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// whyKept tells CapReached from NothingCharged. It reads the item if the answer left it out.
func (s meters) whyKept(ctx context.Context, r usage.Refund, old item) (usage.Outcome, error) {
	if old == nil {
		var err error
		if old, err = s.get(ctx, s.tables.Usage, meterKey(r.Meter, r.Period)); err != nil {
			return "", fmt.Errorf("read meter %s: %w", r.Meter, err)
		}
	}
	if used, _ := old.number(attrUsed); used < r.Units {
		return usage.NothingCharged, nil
	}
	return usage.CapReached, nil
}
