package dynamo

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/usage"
)

// counted is the double of DynamoDB, which counts requests and, from the request failFrom on, if
// that is not 0, refuses all. moto copies all its tables for each transaction, which takes minutes
// with ten thousand markers.
type counted struct {
	*dynamotest.Double
	sent, failFrom int
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sent++
	if c.failFrom > 0 && c.sent >= c.failFrom {
		return dynamotest.Answer(r, http.StatusBadRequest, dynamotest.Error("ValidationException")), nil
	}
	return c.Double.RoundTrip(r)
}

func overDouble() (*Store, *counted) {
	wire := &counted{Double: dynamotest.New()}
	return over(wire), wire
}

// failures makes n failed calls of a meter, charged in one piece, and their refund.
func failures(t *testing.T, s *Store, meter string, n int) usage.Refund {
	t.Helper()
	all := admissionAt(start, meter, usage.Unlimited)
	all.Units = int64(n)
	mustAdmit(t, s, all)
	r := usage.Refund{Meter: meter, Period: usage.PeriodOf(start), Cap: usage.Unlimited}
	for i := range n {
		r.Calls = append(r.Calls, usage.FailedCall{
			AdmissionID: usage.NewAdmissionID(start.Add(time.Duration(i) * time.Microsecond)), Operation: all.Operation, Units: 1,
		})
	}
	return r
}

func tally(t *testing.T, s *Store, r usage.Refund) map[usage.Outcome]int {
	t.Helper()
	outcomes, err := s.Usage().Refund(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[usage.Outcome]int{}
	for _, o := range outcomes {
		counts[o]++
	}
	return counts
}

func wantTally(t *testing.T, got map[usage.Outcome]int, want map[usage.Outcome]int) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("outcomes %v, want %v", got, want)
	}
}

// TestAMeterAtItsCapCostsNoMore: of ten thousand failures the cap pays for a hundred, and the
// store is not asked about the rest. What never started is given back all the same, wherever it is.
func TestAMeterAtItsCapCostsNoMore(t *testing.T) {
	const calls, cap, unstarted = 10_000, 100, 50
	s, wire := overDouble()
	r := failures(t, s, "key_capped", calls)
	r.Cap = cap
	for i := range unstarted {
		r.Calls[calls-1-i*100].Unstarted = true
	}
	wire.sent = 0
	wantTally(t, tally(t, s, r), map[usage.Outcome]int{usage.Refunded: cap + unstarted, usage.CapReached: calls - cap - unstarted})
	if n := wire.sent; n > 6 {
		t.Errorf("%d requests, want at most 6: two for the hundred, one that meets the cap, one for those that never started", n)
	}
	t.Logf("%d failures at the cap: %d requests", calls, wire.sent)
	if used := usedOf(t, s, r.Meter); used != calls-cap-unstarted {
		t.Errorf("%d used", used)
	}
	wire.sent = 0
	tally(t, s, r) // delivered again
	if n := wire.sent; n > 6 {
		t.Errorf("delivered again: %d requests", n)
	}
	if used := usedOf(t, s, r.Meter); used != calls-cap-unstarted {
		t.Errorf("delivered again: %d used", used)
	}
}

// TestNoFreeFailures: the first answer says that nothing is free.
func TestNoFreeFailures(t *testing.T) {
	const calls = 3 * maxMarkers
	s, wire := overDouble()
	r := failures(t, s, "key_none", calls)
	r.Cap, wire.sent = 0, 0
	wantTally(t, tally(t, s, r), map[usage.Outcome]int{usage.CapReached: calls})
	if wire.sent != 1 {
		t.Errorf("%d requests, want 1", wire.sent)
	}
}

// TestAStormOfManyMeters: each transaction gives back as many calls as DynamoDB takes.
func TestAStormOfManyMeters(t *testing.T) {
	const meters, each = 40, 250
	s, wire := overDouble()
	var refunds []usage.Refund
	for i := range meters {
		refunds = append(refunds, failures(t, s, fmt.Sprint("key_", i), each))
	}
	wire.sent = 0
	for _, r := range refunds {
		wantTally(t, tally(t, s, r), map[usage.Outcome]int{usage.Refunded: each})
		if used := usedOf(t, s, r.Meter); used != 0 {
			t.Errorf("%s: %d used", r.Meter, used)
		}
	}
	sent := wire.sent - meters // usedOf reads once
	if want := meters * ((each + maxMarkers - 1) / maxMarkers); sent != want {
		t.Errorf("%d requests, want %d", sent, want)
	}
	t.Logf("%d failures of %d meters: %d requests", meters*each, meters, sent)
}

// TestAPartOfARefundFails: what was given back before stays given back, and the repetition does
// the rest.
func TestAPartOfARefundFails(t *testing.T) {
	const calls = 5 * maxMarkers
	s, wire := overDouble()
	r := failures(t, s, "key_part", calls)
	wire.sent, wire.failFrom = 0, 3
	if outcomes, err := s.Usage().Refund(t.Context(), r); err == nil {
		t.Errorf("no error, outcomes %v", outcomes)
	}
	wire.failFrom = 0
	if used := usedOf(t, s, r.Meter); used != calls-2*maxMarkers {
		t.Errorf("after the failure %d used, want %d", used, calls-2*maxMarkers)
	}
	wantTally(t, tally(t, s, r), map[usage.Outcome]int{usage.AlreadyRefunded: 2 * maxMarkers, usage.Refunded: 3 * maxMarkers})
	if used := usedOf(t, s, r.Meter); used != 0 {
		t.Errorf("%d used in the end", used)
	}
	more := admissionAt(start, r.Meter, usage.Unlimited)
	more.Units = calls
	mustAdmit(t, s, more)
	wire.sent = 0
	wantTally(t, tally(t, s, r), map[usage.Outcome]int{usage.AlreadyRefunded: calls})
	if wire.sent != calls/maxMarkers {
		t.Errorf("%d requests where all was given back before, want %d: the markers say it all", wire.sent, calls/maxMarkers)
	}
}
