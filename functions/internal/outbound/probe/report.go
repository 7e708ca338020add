package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sekisho/functions/internal/outbound"
)

// report is a form in which a call is shown.
type report interface {
	attempt(outbound.Attempt)
	result(result)
}

type result struct {
	resp  outbound.Response
	err   *outbound.Error // nil on success
	tally outbound.Tally
	total time.Duration
}

// agentSees is what the final JSON holds: after a failure, the members of a tool's error.
// After a success a tool would make its own answer of the body, so only its outline is
// shown; the body stays out, as it may repeat a secret of the URL.
func (r result) agentSees() any {
	if r.err != nil {
		return outbound.Advise(r.err)
	}
	return struct {
		Status      int    `json:"status"`
		ContentType string `json:"contentType"`
		Bytes       int    `json:"bytes"`
	}{r.resp.Status, r.resp.Public("Content-Type"), len(r.resp.Body)}
}

// text is the form for humans.
type text struct{ w io.Writer }

func (t *text) attempt(a outbound.Attempt) {
	fmt.Fprintf(t.w, "attempt %d of %d: %s\n", a.Number, a.Of, describe(a))
	switch a.WaitReason {
	case outbound.WaitRetryAfter:
		fmt.Fprintf(t.w, "waiting %dms (Retry-After)\n", a.Wait.Milliseconds())
	case outbound.WaitBackoff:
		fmt.Fprintf(t.w, "waiting %dms (backoff, attempt %d of %d)\n", a.Wait.Milliseconds(), a.Number+1, a.Of)
	}
}

func describe(a outbound.Attempt) string {
	if a.Err == nil {
		return fmt.Sprintf("HTTP %d, success, %dms", a.Status, a.Duration.Milliseconds())
	}
	return fmt.Sprintf("%s, %s (%s), %dms", outcome(a), a.Class, a.Reason, a.Duration.Milliseconds())
}

// outcome is a failure in a few words.
func outcome(a outbound.Attempt) string {
	if a.Reason == outbound.ReasonTimeout { // whose own text speaks of a context
		return "no complete answer in time"
	}
	return a.Err.Error()
}

func (t *text) result(r result) {
	verb, why := "succeeded", ""
	if r.err != nil {
		verb, why = "failed", "; stopped: "+stops[r.err.Stop]
	}
	fmt.Fprintf(t.w, "%s after %d attempt%s in %dms, %dms of it waiting%s\n",
		verb, r.tally.Attempts, plural(r.tally.Attempts), r.total.Milliseconds(), r.tally.Waited.Milliseconds(), why)
	fmt.Fprintln(t.w, "an agent would see:")
	enc := json.NewEncoder(t.w)
	enc.SetIndent("", "  ")
	enc.Encode(r.agentSees())
}

var stops = map[outbound.Stop]string{
	outbound.StopPermanent: "a repetition can't help",
	outbound.StopUnknown:   "failed again after the one retry",
	outbound.StopAttempts:  "no attempts left",
	outbound.StopDeadline:  "the wait is too long",
	outbound.StopAmbiguous: "it may have happened and is not idempotent",
	outbound.StopAccepted:  "it was accepted",
	outbound.StopCancelled: "cancelled",
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// lines is the form for machines: one object a line. Durations are milliseconds.
type lines struct{ enc *json.Encoder }

type attemptLine struct {
	Event          string              `json:"event"`
	Number         int                 `json:"number"`
	Of             int                 `json:"of"`
	OK             bool                `json:"ok"`
	Status         int                 `json:"status,omitempty"`
	Outcome        string              `json:"outcome,omitempty"`
	Classification outbound.Class      `json:"classification,omitempty"`
	Reason         outbound.Reason     `json:"reason,omitempty"`
	DurationMs     int64               `json:"durationMs"`
	WaitMs         int64               `json:"waitMs"`
	WaitReason     outbound.WaitReason `json:"waitReason,omitempty"`
	Stop           outbound.Stop       `json:"stop,omitempty"`
}

func (l *lines) attempt(a outbound.Attempt) {
	line := attemptLine{
		Event: "attempt", Number: a.Number, Of: a.Of, OK: a.Err == nil, Status: a.Status,
		Classification: a.Class, Reason: a.Reason, DurationMs: a.Duration.Milliseconds(),
		WaitMs: a.Wait.Milliseconds(), WaitReason: a.WaitReason, Stop: a.Stop,
	}
	if a.Err != nil {
		line.Outcome = outcome(a)
	}
	l.enc.Encode(line)
}

type resultLine struct {
	Event    string `json:"event"`
	OK       bool   `json:"ok"`
	Attempts int    `json:"attempts"`
	Retries  int    `json:"retries"`
	WaitedMs int64  `json:"waitedMs"`
	TotalMs  int64  `json:"totalMs"`
	Agent    any    `json:"agent"`
}

func (l *lines) result(r result) {
	l.enc.Encode(resultLine{
		Event: "result", OK: r.err == nil, Attempts: r.tally.Attempts, Retries: r.tally.Retries,
		WaitedMs: r.tally.Waited.Milliseconds(), TotalMs: r.total.Milliseconds(), Agent: r.agentSees(),
	})
}
