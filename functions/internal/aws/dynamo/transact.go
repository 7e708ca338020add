package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxTransacts bounds the attempts of a transaction that conflicts with others.
const maxTransacts = 12

// Why a write cancelled its transaction; transientReasons are worth a retry.
const reasonCondition = "ConditionalCheckFailed"

var transientReasons = []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}

// transact applies all writes or none, and retries if other transactions hold the same items.
// If conditions failed, it returns a reason for each write.
//
// The SDK retries all other failures. After an unclear one it sends the same token, by which
// DynamoDB recognises the transaction for ten minutes; the callers' conditions make a
// repetition harmless even after that.
func (s *Store) transact(ctx context.Context, writes ...types.TransactWriteItem) (cancelled []types.CancellationReason, err error) {
	for n := 1; ; n++ {
		_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
		var e *types.TransactionCanceledException
		if !errors.As(err, &e) {
			return nil, err
		}
		reasons := e.CancellationReasons
		if len(reasons) != len(writes) {
			return nil, fmt.Errorf("cancelled with %d reasons for %d writes: %w", len(reasons), len(writes), err)
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

// failed reports whether a write's condition cancelled the transaction.
func failed(r types.CancellationReason) bool { return r.Code != nil && *r.Code == reasonCondition }
