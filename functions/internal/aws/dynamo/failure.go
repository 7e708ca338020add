package dynamo

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// verdict is what an answer says about a write.
type verdict int

const (
	applied       verdict = iota
	conditionFail         // not applied: the condition was false
	notApplied            // not applied, and safe to send again
	rejected              // not applied, and never will be
	unclear               // it may or may not have been applied
)

// transient lists the error codes of writes that were turned away without being applied.
var transient = []string{
	"ProvisionedThroughputExceededException", "ThrottlingException", "ThrottlingError", "Throttling",
	"RequestLimitExceeded", "TransactionConflictException", "TransactionInProgressException",
	"ReplicatedWriteConflictException",
}

// judge classifies an error of the SDK. Unknown errors are unclear.
func judge(err error) verdict {
	if err == nil {
		return applied
	}
	if _, failed := conditionFailed(err); failed {
		return conditionFail
	}
	if turnedAway(err) {
		return notApplied
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return notApplied // there was no connection to write to
	}
	var api smithy.APIError
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && errors.As(err, &api) && answer.HTTPStatusCode() >= 400 && answer.HTTPStatusCode() < 500 {
		return rejected
	}
	return unclear
}

// turnedAway says whether DynamoDB took no part in the write, by its code.
func turnedAway(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains(transient, api.ErrorCode())
}

// conditionFailed returns the item as it was when the condition failed; nil where it
// didn't exist or, against the documentation, was left out (aws-sdk-go-v2#2600).
func conditionFailed(err error) (old item, failed bool) {
	var e *types.ConditionalCheckFailedException
	if !errors.As(err, &e) {
		return nil, false
	}
	return e.Item, true
}

const (
	firstPause   = 20 * time.Millisecond
	longestPause = 400 * time.Millisecond
)

// pause waits before attempt n+1, between half and the whole of a delay that doubles. It
// returns false at once if the context would end first.
func pause(ctx context.Context, n int) bool { return wait(ctx, n, rand.N) }

func wait(ctx context.Context, n int, jitter func(time.Duration) time.Duration) bool {
	delay := min(longestPause, firstPause<<min(n-1, 10))
	delay = delay/2 + jitter(delay/2)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delay {
		return false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
