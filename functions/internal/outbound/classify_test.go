package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/textproto"
	"os"
	"testing"
)

// TestWhatMayHaveHappened: what was decided before anything was sent did not happen, and whatever
// nobody can tell may have.
func TestWhatMayHaveHappened(t *testing.T) {
	for name, c := range map[string]struct {
		outcome outcome
		want    verdict
	}{
		"a write was accepted": {outcome{accepted: true, err: &ParseError{}}, verdict{ReasonUnparsable, Unknown, true}},
		"the caller left":      {outcome{err: context.Canceled}, verdict{ReasonCancelled, Permanent, true}},
		"no request":           {outcome{err: &errRequest{}}, verdict{ReasonRequest, Permanent, false}},
		"an address":           {outcome{err: &BlockedAddressError{}}, verdict{ReasonBlocked, Permanent, false}},
		"see other":            {outcome{err: &redirectError{status: 303}}, verdict{ReasonRedirect, Permanent, true}},
		"another redirect":     {outcome{err: &redirectError{status: 307}}, verdict{ReasonRedirect, Permanent, false}},
		"too large":            {outcome{err: ErrTooLarge}, verdict{ReasonTooLarge, Permanent, true}},
		"garbage":              {outcome{err: &ParseError{}}, verdict{ReasonUnparsable, Unknown, true}},
		"not HTTP":             {outcome{err: textproto.ProtocolError("")}, verdict{ReasonUnparsable, Unknown, true}},
		"a certificate":        {outcome{err: &tls.CertificateVerificationError{}}, verdict{ReasonTLS, Permanent, false}},
		"no TLS":               {outcome{err: tls.RecordHeaderError{}}, verdict{ReasonTLS, Permanent, false}},
		"time":                 {outcome{err: context.DeadlineExceeded}, verdict{ReasonTimeout, Transient, true}},
		"time, of a socket":    {outcome{err: &net.OpError{Err: os.ErrDeadlineExceeded}}, verdict{ReasonTimeout, Transient, true}},
		"time, beside others":  {outcome{err: errors.Join(&net.DNSError{}, context.DeadlineExceeded)}, verdict{ReasonTimeout, Transient, true}},
		"no such name":         {outcome{err: &net.DNSError{}}, verdict{ReasonDNS, Transient, false}},
		"a connection":         {outcome{err: &transportError{errors.New("reset")}}, verdict{ReasonConnection, Transient, true}},
		"what no rule knows":   {outcome{err: errors.New("new in the next release")}, verdict{ReasonOther, Permanent, true}},
	} {
		if got := classify(c.outcome); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
