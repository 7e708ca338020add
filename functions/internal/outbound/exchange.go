package outbound

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// StatusError is an answer with a status other than 2xx. Its text holds nothing of the
// upstream's.
type StatusError struct {
	Status int
	// Answer is set for a 4xx if Request.KeepRefusals asks for it and it came in full.
	Answer *Response
}

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
// body.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// outcome is what one attempt came to.
type outcome struct {
	err        error // nil: a value was parsed
	status     int   // last HTTP status, 0 if none came
	sent       bool  // false: the upstream certainly never saw the request
	accepted   bool  // a write was answered with 2xx: it must not be sent again
	retryAfter time.Duration
}

// route is where redirects have led a call; the next attempt goes on from there.
type route struct {
	url    *url.URL
	left   int  // requests that may still be put on the wire
	public bool // a host on the way was public
}

// exchange makes one attempt within ctx: request, redirects, the whole body.
func (c *Client) exchange(ctx context.Context, p *prepared, at *route, parse func(Response) error) outcome {
	var o outcome
	resp, err := c.follow(ctx, p, at, &o)
	if err == nil {
		defer resp.Body.Close()
		o.accepted = !safe(p.method) && isSuccess(resp.StatusCode)
		err = c.read(resp, p, parse)
	}
	o.err = err
	return o
}

// follow sends the request and follows redirects, within the rules of redirect.go.
func (c *Client) follow(ctx context.Context, p *prepared, at *route, o *outcome) (*http.Response, error) {
	for {
		req, err := p.build(ctx, at.url)
		if err != nil {
			return nil, err
		}
		resp, err := c.send(req, p, at, o)
		if err != nil {
			return nil, &transportError{err}
		}
		o.status = resp.StatusCode
		o.retryAfter = retryAfter(resp.Header, time.Now())
		next, err := redirection(resp, at.url, p.method)
		if err == nil && next == nil {
			return resp, nil
		}
		resp.Body.Close()
		if err == nil && c.cfg.SameOrigin && !sameOrigin(next, p.url) {
			err = &redirectError{status: resp.StatusCode, why: "it leads to another origin"}
		}
		if err == nil && at.left <= 0 {
			err = &redirectError{status: resp.StatusCode, why: "too many redirects"}
		}
		if err != nil {
			return nil, err
		}
		at.url = next
	}
}

// send sends one request. Private addresses are open to it if the configuration says so
// and no public host led here: otherwise whoever controls that host would reach into the
// network that this process runs in.
func (c *Client) send(req *http.Request, p *prepared, at *route, o *outcome) (*http.Response, error) {
	pool := c.public
	if !at.public && (sameHost(req.URL, p.url) || c.cfg.AllowPrivateRedirects) {
		pool = c.private
	}
	resp, peer, err := pool.roundTrip(req)
	if peer != nil {
		o.sent = true
		at.left--
		at.public = at.public || !isPrivateHost(peer)
	}
	return resp, err
}

func isPrivateHost(peer net.Addr) bool {
	ap, err := netip.ParseAddrPort(peer.String())
	return err == nil && isPrivate(ap.Addr())
}

// read reads a 2xx answer in full and parses it. The body of any other answer is left
// unread, unless the caller wants that of a refusal: it might not end.
//
// A 2xx says that a write was accepted, whatever becomes of the body. So parse gets the
// answer then even if its body is missing, and learns why from [Response.Text].
func (c *Client) read(resp *http.Response, p *prepared, parse func(Response) error) error {
	r := Response{Status: resp.StatusCode, Write: !safe(p.method), Header: resp.Header, scrub: p.scrub}
	var err error
	if !isSuccess(resp.StatusCode) {
		refusal := &StatusError{Status: resp.StatusCode}
		if p.keepRefusals && resp.StatusCode >= 400 && resp.StatusCode <= 499 {
			if r.Body, err = c.body(resp, p.method); err == nil {
				refusal.Answer = &r
			}
		}
		return refusal
	}
	if r.Body, err = c.body(resp, p.method); err != nil {
		if !r.Write {
			return err
		}
		r.Body, r.lost = nil, err
	}
	if err := parse(r); err != nil {
		return &ParseError{Err: err}
	}
	return nil
}

func (c *Client) body(resp *http.Response, method string) ([]byte, error) {
	if method != http.MethodHead && resp.ContentLength > c.cfg.MaxBytes {
		return nil, ErrTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.cfg.MaxBytes+1))
	switch {
	case int64(len(body)) > c.cfg.MaxBytes:
		return nil, ErrTooLarge
	case badCompression(err):
		return nil, &ParseError{Err: err}
	case err != nil:
		return nil, &transportError{fmt.Errorf("read the answer: %w", err)}
	}
	return body, nil
}

func isSuccess(status int) bool { return status >= 200 && status <= 299 }

func badCompression(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt)
}
