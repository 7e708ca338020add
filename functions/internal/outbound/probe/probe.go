// Package probe shows one outbound call's life against any URL: every attempt as it ends,
// every wait with its reason, and what an agent would see.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"sekisho/functions/internal/outbound"
)

// Exit codes of Run.
const (
	ExitOK     = 0
	ExitFailed = 1 // the call failed
	ExitUsage  = 2 // nothing was sent: an argument is wrong
)

// Options are the command's arguments. There are no defaults here.
type Options struct {
	URL        string
	Timeout    time.Duration // of one attempt, above 0
	Attempts   int           // 1 to 4
	Method     string        // empty is GET
	Idempotent bool          // a repeated call does no harm, whatever the method
	JSON       bool          // one JSON object a line, for machines
	// Dial replaces the network, for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Run makes the call and reports it on stdout; wrong arguments are reported on stderr.
// It follows the rules of every outbound call, except that it may reach private and
// loopback addresses, because a human chose the URL. From a public one, no redirect leads
// there: that URL somebody else chose.
func Run(ctx context.Context, o Options, stdout, stderr io.Writer) int {
	client, err := newClient(o)
	if err != nil {
		fmt.Fprintln(stderr, "probe:", err)
		return ExitUsage
	}
	defer client.Close()

	var out report = &text{w: stdout}
	if o.JSON {
		out = &lines{enc: json.NewEncoder(stdout)}
	}
	var tally outbound.Tally
	start := time.Now()
	resp, err := outbound.Do(ctx, client, outbound.Request{
		Method: o.Method, URL: o.URL, Idempotent: o.Idempotent,
		Observe: func(a outbound.Attempt) {
			tally.Observe(a)
			out.attempt(a)
		},
	}, whole)
	var e *outbound.Error
	if errors.As(err, &e) && e.Reason == outbound.ReasonRequest {
		fmt.Fprintln(stderr, "probe:", e.Err)
		return ExitUsage
	}
	out.result(result{resp: resp, err: e, tally: tally, total: time.Since(start)})
	if err != nil {
		return ExitFailed
	}
	return ExitOK
}

func newClient(o Options) (*outbound.Client, error) {
	if o.Timeout <= 0 {
		return nil, fmt.Errorf("--timeout is %s: give a duration above 0, such as 5s", o.Timeout)
	}
	if o.Attempts < 1 || o.Attempts > outbound.MaxAttempts {
		return nil, fmt.Errorf("--attempts is %d: give 1 to %d", o.Attempts, outbound.MaxAttempts)
	}
	return outbound.New(outbound.Config{
		Timeout: o.Timeout, Attempts: o.Attempts, Dial: o.Dial,
		AllowPrivate: true, AllowPrivateRedirects: true,
	})
}

// whole takes any answer, but one to a read that says it is JSON must be JSON.
func whole(r outbound.Response) (outbound.Response, error) {
	if r.Write || !r.SaysJSON() || len(r.Body) == 0 {
		return r, nil
	}
	_, err := outbound.JSON[json.RawMessage](r)
	return r, err
}
