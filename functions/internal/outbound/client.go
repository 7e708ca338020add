package outbound

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// Defaults and bounds of a [Config].
const (
	DefaultTimeout  = 15 * time.Second
	DefaultReserve  = 250 * time.Millisecond
	DefaultMaxBytes = 1 << 20
	DefaultMaxWait  = time.Minute
	MaxAttempts     = 4 // C3
)

// Config describes one upstream. The zero value of each field is its default.
type Config struct {
	// Upstream names it in errors, events and logs. Default: the URL's host.
	Upstream string
	// Timeout bounds one attempt: connecting, redirects, headers and the whole
	// body. Default 15 s. The context's deadline can only shorten it.
	Timeout time.Duration
	// Attempts is the most that are made, 1 to 4. Default 4.
	Attempts int
	// Reserve is kept free before the context's deadline, so that the caller can
	// still write its answer. Default 250 ms.
	Reserve time.Duration
	// MaxWait is the longest single wait, for contexts that have no deadline or a
	// distant one. A longer wait isn't slept but returned. Default 1 min.
	MaxWait time.Duration
	// MaxBytes bounds the body of an answer, after decompression. Default 1 MiB.
	MaxBytes int64
	// AllowPrivate lets the request's own host be private or loopback. Link-local
	// addresses, where clouds keep their credentials, stay refused.
	AllowPrivate bool
	// AllowPrivateRedirects lets redirects lead to other private hosts.
	AllowPrivateRedirects bool
	// Dial replaces the network, for tests. The addresses that it reaches are its
	// own business: they are not checked.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Jitter draws from [0, 1). Default: math/rand/v2.
	Jitter func() float64
}

// Client calls one upstream. It is safe for concurrent use.
type Client struct {
	cfg Config
	// Two transports with a pool each: a connection that was allowed for the
	// request's own host must not be found by a redirect that leads there.
	home, away *http.Transport
}

// New returns a client, or an error that names the value out of range.
func New(cfg Config) (*Client, error) {
	cfg.Timeout = orDefault(cfg.Timeout, DefaultTimeout)
	cfg.Attempts = orDefault(cfg.Attempts, MaxAttempts)
	cfg.Reserve = orDefault(cfg.Reserve, DefaultReserve)
	cfg.MaxWait = orDefault(cfg.MaxWait, DefaultMaxWait)
	cfg.MaxBytes = orDefault(cfg.MaxBytes, DefaultMaxBytes)
	if cfg.Jitter == nil {
		cfg.Jitter = rand.Float64
	}
	if cfg.Attempts < 1 || cfg.Attempts > MaxAttempts {
		return nil, fmt.Errorf("attempts is %d: give 1 to %d", cfg.Attempts, MaxAttempts)
	}
	if cfg.Timeout < 0 || cfg.Reserve < 0 || cfg.MaxWait < 0 || cfg.MaxBytes < 0 {
		return nil, errors.New("timeout, reserve, longest wait and size limit can't be negative")
	}
	dial := func(private bool) dialFunc {
		if cfg.Dial != nil {
			return cfg.Dial
		}
		return guardedDial(private, nil)
	}
	return &Client{
		cfg:  cfg,
		home: newTransport(dial(cfg.AllowPrivate)),
		away: newTransport(dial(cfg.AllowPrivate && cfg.AllowPrivateRedirects)),
	}, nil
}

// Close closes the idle connections.
func (c *Client) Close() {
	c.home.CloseIdleConnections()
	c.away.CloseIdleConnections()
}

// newTransport uses no proxy: a proxy would resolve the name itself, and the
// address check would look at the proxy's address instead of the upstream's.
func newTransport(dial dialFunc) *http.Transport {
	return &http.Transport{
		DialContext:       dial,
		ForceAttemptHTTP2: true,
		// Bounds for a handshake whose request has given up already.
		TLSHandshakeTimeout: 10 * time.Second,
		// Shorter than servers keep a connection (5 s and up): one that the server
		// has closed meanwhile fails a call that may not be repeated. It holds
		// for a frozen Lambda too, since the pool compares wall clocks.
		IdleConnTimeout:        4 * time.Second,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
