package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"sekisho/functions/internal/usage"
)

// NotStartedType is the gateway response for a call whose function could not be invoked: it had
// no concurrency left, or the brake had stopped it. No caller can bring that about by what it
// sends, so the cap on free failures does not count it.
const NotStartedType = "INTEGRATION_FAILURE"

// Refund returns what a record gives back: a refund of one call. due is false when the call
// succeeded or took nothing. code gives operations the codes of their counters. An error means that a
// field can't be what the gate wrote; it names the field and quotes nothing.
func (r AccessRecord) Refund(code func(operation string) string) (refund usage.Refund, due bool, err error) {
	a := r.Admission
	if a.AdmissionID == "" {
		return usage.Refund{}, false, nil
	}
	status, err := strconv.Atoi(r.Status)
	if err != nil || status < 100 || status > 599 {
		return usage.Refund{}, false, errors.New("status is not an HTTP status")
	}
	if status < 400 {
		return usage.Refund{}, false, nil
	}
	if !strings.HasPrefix(a.Meter, "key_") {
		return usage.Refund{}, false, errors.New("the meter is not the ID of a key")
	}
	period, err := usage.ParsePeriod(a.Period)
	if err != nil {
		return usage.Refund{}, false, errors.New("the period is not a month")
	}
	units, err := strconv.ParseInt(a.Units, 10, 64)
	if err != nil {
		return usage.Refund{}, false, errors.New("the units are not a whole number")
	}
	most, err := strconv.ParseInt(a.RefundCap, 10, 64)
	if err != nil || most < int64(usage.Unlimited) {
		return usage.Refund{}, false, errors.New("the refund cap is not a whole number of -1 or more")
	}
	call := usage.FailedCall{AdmissionID: a.AdmissionID, Units: units, Operation: code(a.Operation), Unstarted: r.ResponseType == NotStartedType}
	refund = usage.Refund{Meter: a.Meter, Period: period, Cap: usage.Limit(most), Calls: []usage.FailedCall{call}}
	if refund.Check() != nil {
		return usage.Refund{}, false, errors.New("the admission ID, its month or the units are not those of an admission")
	}
	return refund, true, nil
}

// Failed is the record of a call that has no answer.
func (r AccessRecord) Failed() AccessRecord {
	r.Status = strconv.Itoa(http.StatusInternalServerError)
	return r
}
