package authorizer

import (
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// throttle denies a call that nothing was taken for: one without units, or with one unknown key
// too many. The decision has no period, so settle doesn't count it as a denial of the plan's.
func (d *decision) throttle(wait time.Duration) {
	wait = usage.WholeSeconds(wait)
	d.verdict = throttled
	d.context.Denial = string(problem.Throttled)
	d.context.Refusal = gateway.Refusal{ // header and body give the same wait
		RetryAfter: gateway.Number(int64(wait / time.Second)), RetryAfterMs: gateway.Number(wait.Milliseconds()),
	}
}
