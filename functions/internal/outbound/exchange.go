package outbound

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Response is an answer with a 2xx status, read in full.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// StatusError is an answer with a status other than 2xx. Its body isn't kept: it is
// the upstream's text, and may repeat what was sent.
type StatusError struct{ Status int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
}

// ParseError is a 2xx answer that could not be read as what it should be.
type ParseError struct{ Err error }

func (e *ParseError) Error() string { return "the answer does not parse: " + e.Err.Error() }
func (e *ParseError) Unwrap() error { return e.Err }

// ErrTooLarge is an answer longer than Config.MaxBytes.
var ErrTooLarge = errors.New("the answer is larger than the limit")

// transportError is what net/http returned instead of an answer, or instead of its
// body. tried is false if it didn't even look for a connection.
type transportError struct {
	err   error
	tried bool
}

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// outcome is what one attempt came to.
type outcome struct {
	err        error // nil: a value was parsed
	status     int   // last HTTP status, 0 if none came
	sent       bool  // false: the upstream certainly never saw the request
	retryAfter time.Duration
}

// exchange makes one attempt within ctx: request, redirects, the whole body.
func (c *Client) exchange(ctx context.Context, p *prepared, parse func(Response) error) outcome {
	var o outcome
	var tried, sent atomic.Bool // a trace may be called from another goroutine
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { tried.Store(true) },
		// Once there is a connection, bytes may have left.
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	resp, err := c.follow(traced, p, &o)
	if err == nil {
		defer resp.Body.Close()
		err = c.read(resp, p.method, parse)
	}
	var te *transportError
	if errors.As(err, &te) {
		te.tried = tried.Load()
	}
	o.err, o.sent = err, sent.Load()
	return o
}

// follow sends the request and follows redirects, within the rules of redirect.go.
func (c *Client) follow(ctx context.Context, p *prepared, o *outcome) (*http.Response, error) {
	u := p.url
	for followed := 0; ; followed++ {
		req, err := p.build(ctx, u)
		if err != nil {
			return nil, err
		}
		transport := c.away
		if sameHost(u, p.url) {
			transport = c.home
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return nil, &transportError{err: err}
		}
		o.status = resp.StatusCode
		o.retryAfter = retryAfter(resp.Header, time.Now())
		next, err := redirection(resp, u, p.method, followed)
		if err == nil && next == nil {
			return resp, nil
		}
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		u = next
	}
}

// read reads a 2xx answer in full and parses it. The body of any other answer is
// left unread: nobody needs it, and it might not end.
func (c *Client) read(resp *http.Response, method string, parse func(Response) error) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return &StatusError{Status: resp.StatusCode}
	}
	if method != http.MethodHead && resp.ContentLength > c.cfg.MaxBytes {
		return ErrTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.cfg.MaxBytes+1))
	if int64(len(body)) > c.cfg.MaxBytes {
		return ErrTooLarge
	}
	if badCompression(err) {
		return &ParseError{Err: err}
	}
	if err != nil {
		return &transportError{err: fmt.Errorf("read the answer: %w", err)}
	}
	if err := parse(Response{Status: resp.StatusCode, Header: resp.Header, Body: body}); err != nil {
		return &ParseError{Err: err}
	}
	return nil
}

func badCompression(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
