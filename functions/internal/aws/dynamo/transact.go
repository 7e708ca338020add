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

// Reasons of a cancelled transaction, by write. The transient ones pass by themselves.
const reasonCondition = "ConditionalCheckFailed"

var transientReasons = []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

// transact applies all writes or none, and waits for other transactions on the same items.
// It returns why it was cancelled, an entry for each write, if conditions failed.
//
// All other failures are the SDK's to retry. After an unclear one it sends the same token,
// by which DynamoDB recognises the transaction for ten minutes; the conditions of each
// caller keep a repetition harmless beyond that too.
func (s *Store) transact(ctx context.Context, writes ...types.TransactWriteItem) (cancelled []types.CancellationReason, err error) {
	for n := 1; ; n++ {
		_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		var e *types.TransactionCanceledException
		if !errors.As(err, &e) {
			return nil, err
		}
		reasons := e.CancellationReasons
		if len(reasons) != len(writes) {
			return nil, fmt.Errorf("cancelled for %d reasons, there are %d writes: %w", len(reasons), len(writes), err)
		}
		if !slices.ContainsFunc(reasons, passes) {
			if slices.ContainsFunc(reasons, failed) {
				return reasons, nil
			}
			return nil, err
		}
		if n == maxTransacts || !wait(ctx, n, s.Jitter) {
			return nil, err
		}
	}
}

func passes(r types.CancellationReason) bool {
	return r.Code != nil && slices.Contains(transientReasons, *r.Code)
}

// failed says whether a write was what cancelled the transaction, by its condition.
func failed(r types.CancellationReason) bool { return r.Code != nil && *r.Code == reasonCondition }
