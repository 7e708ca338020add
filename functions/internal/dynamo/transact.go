package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxTransacts bounds the attempts of a transaction that others get in the way of.
const maxTransacts = 12

// Reasons of a cancelled transaction, by item.
const (
	reasonCondition = "ConditionalCheckFailed"
)

// transientReasons name what passes by itself.
var transientReasons = []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "DuplicateItem"}

// transact applies all writes or none, and waits for other transactions on the same items.
// It returns why it was cancelled, an entry for each write, if conditions failed.
//
// The SDK repeats a transaction after an unclear failure, with the same token, by which
// DynamoDB recognises it for ten minutes. The conditions of each caller keep a repetition
// harmless beyond that too.
func (s *Store) transact(ctx context.Context, writes ...types.TransactWriteItem) (cancelled []types.CancellationReason, err error) {
	for n := 1; ; n++ {
		_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		if err == nil {
			return nil, nil
		}
		again := judge(err) == notApplied
		if e := (*types.TransactionCanceledException)(nil); errors.As(err, &e) {
			if len(e.CancellationReasons) != len(writes) {
				return nil, fmt.Errorf("cancelled for %d reasons, there are %d writes: %w", len(e.CancellationReasons), len(writes), err)
			}
			again = slices.ContainsFunc(e.CancellationReasons, func(r types.CancellationReason) bool {
				return r.Code != nil && slices.Contains(transientReasons, *r.Code)
			})
			if !again && slices.ContainsFunc(e.CancellationReasons, failed) {
				return e.CancellationReasons, nil
			}
		}
		if !again || n == maxTransacts || !pause(ctx, n) {
			return nil, err
		}
	}
}

// failed says whether a write was what cancelled the transaction, by its condition.
func failed(r types.CancellationReason) bool { return r.Code != nil && *r.Code == reasonCondition }
