package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"strings"

	"sekisho/functions/internal/problem"
)

// Class is how a failure is treated.
type Class = problem.Classification

const (
	Transient = problem.Transient // tried again while attempts and time last
	Permanent = problem.Permanent // never tried again
	Unknown   = problem.Unknown   // tried once more
)

// Reason is what went wrong, as one stable word for logs and metrics.
type Reason string

const (
	ReasonCancelled      Reason = "cancelled"       // the caller went away
	ReasonRequest        Reason = "invalid_request" // can't be sent as it is
	ReasonBlocked        Reason = "blocked_address"
	ReasonRedirect       Reason = "redirect" // not followed
	ReasonTooLarge       Reason = "too_large"
	ReasonUnparsable     Reason = "unparsable"
	ReasonTLS            Reason = "tls" // certificate or protocol refused
	ReasonTimeout        Reason = "timeout"
	ReasonDNS            Reason = "dns"
	ReasonConnection     Reason = "connection"      // refused, reset, cut off
	ReasonRateLimited    Reason = "rate_limited"    // 429
	ReasonRequestTimeout Reason = "request_timeout" // 408
	ReasonMisdirected    Reason = "misdirected"     // 421
	ReasonTooEarly       Reason = "too_early"       // 425
	ReasonUnavailable    Reason = "unavailable"     // 503
	ReasonBadGateway     Reason = "bad_gateway"     // 502
	ReasonGatewayTimeout Reason = "gateway_timeout" // 504
	ReasonServerError    Reason = "server_error"    // 500
	ReasonAuth           Reason = "auth"            // 401, 403, 407
	ReasonNotFound       Reason = "not_found"       // 404, 410
	ReasonConflict       Reason = "conflict"        // 409
	ReasonRejected       Reason = "rejected"        // any other 4xx
	ReasonStatus         Reason = "status"          // any other status
	ReasonOther          Reason = "other"
	ReasonDeadline       Reason = "deadline" // no time for a first attempt
	ReasonGate           Reason = "gate"     // Request.Gate refused
)

// verdict is what the list says of a failure.
type verdict struct {
	reason Reason
	class  Class
	// ambiguous: the upstream may have done what was asked, provided that the request
	// reached it. 429 and 503 say that it was not processed; 500 says nothing, a
	// gateway's 502 and 504 can follow a request that went through, and so can an
	// answer that got lost or can't be read.
	ambiguous bool
}

type rule struct {
	match func(outcome) bool
	verdict
}

// classify applies the first rule that matches. Whatever no rule knows is permanent.
func classify(o outcome) verdict {
	for _, r := range rules {
		if r.match(o) {
			return r.verdict
		}
	}
	var e *StatusError
	if errors.As(o.err, &e) {
		return meaningOf(e.Status).verdict
	}
	return verdict{reason: ReasonOther, class: Permanent, ambiguous: true}
}

// rules are in order: what we decided ourselves, then what the network did. What the
// upstream said is in status.go.
var rules = []rule{
	{func(o outcome) bool { return o.accepted }, verdict{ReasonUnparsable, Unknown, true}},
	{is(context.Canceled), verdict{ReasonCancelled, Permanent, true}},
	{as[*errRequest], verdict{ReasonRequest, Permanent, false}},
	{as[*BlockedAddressError], verdict{ReasonBlocked, Permanent, false}},
	{seeOther, verdict{ReasonRedirect, Permanent, true}},
	{as[*redirectError], verdict{ReasonRedirect, Permanent, false}},
	{is(ErrTooLarge), verdict{ReasonTooLarge, Permanent, true}},
	{as[*ParseError], verdict{ReasonUnparsable, Unknown, true}},
	{notHTTP, verdict{ReasonUnparsable, Unknown, true}},
	{tlsRefused, verdict{ReasonTLS, Permanent, false}},

	{timeout, verdict{ReasonTimeout, Transient, true}},
	{as[*net.DNSError], verdict{ReasonDNS, Transient, false}},
	{brokenOff, verdict{ReasonConnection, Transient, true}},
}

func is(target error) func(outcome) bool {
	return func(o outcome) bool { return errors.Is(o.err, target) }
}

func as[E error](o outcome) bool {
	var e E
	return errors.As(o.err, &e)
}

// seeOther: 303 redirects to the outcome of what was asked (RFC 9110, 15.4.4), so a
// write was processed.
func seeOther(o outcome) bool {
	var e *redirectError
	return errors.As(o.err, &e) && e.status == http.StatusSeeOther
}

// notHTTP: something answered, but not in HTTP. net/http has types for some of these
// failures only; the words are common to all.
func notHTTP(o outcome) bool {
	return as[textproto.ProtocolError](o) || (brokenOff(o) && strings.Contains(o.err.Error(), "malformed HTTP"))
}

// tlsRefused: one side refused the other's certificate or protocol, and would again.
// Most of these errors have no type, all have the prefix. A handshake that was cut off
// or took too long is not among them.
func tlsRefused(o outcome) bool {
	return as[*tls.CertificateVerificationError](o) || as[tls.RecordHeaderError](o) ||
		(brokenOff(o) && strings.Contains(o.err.Error(), "tls: "))
}

func timeout(o outcome) bool {
	var e net.Error
	return errors.Is(o.err, context.DeadlineExceeded) || (errors.As(o.err, &e) && e.Timeout())
}

// brokenOff: the exchange failed below HTTP. All that has no rule of its own ends
// here: net/http wraps these failures in too many ways to list.
func brokenOff(o outcome) bool { return as[*transportError](o) }
