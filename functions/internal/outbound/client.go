package outbound

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Defaults and bounds of a [Config].
const (
	DefaultTimeout  = 15 * time.Second
	DefaultReserve  = 250 * time.Millisecond
	DefaultMaxBytes = 1 << 20
	DefaultMaxWait  = time.Minute
	// MaxAttempts bounds the attempts of a call and also the requests that it puts on the
	// wire, those that follow redirects included.
	MaxAttempts = 4
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
	// AllowPrivate lets the request's own host be private or loopback. All other
	// addresses that are not public stay refused: link-local ones, say, where clouds
	// keep their credentials.
	AllowPrivate bool
	// AllowPrivateRedirects lets a private host redirect to other private hosts. A
	// public host never can.
	AllowPrivateRedirects bool
	// SameOrigin refuses redirects that lead to another scheme, host or port.
	SameOrigin bool
	// Dial replaces the network, for tests. The addresses that it reaches are its
	// own business: they are not checked.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Jitter draws from [0, 1). Default: math/rand/v2.
	Jitter func() float64
}

// Client calls one upstream. It is safe for concurrent use.
type Client struct {
	cfg Config
	// A pool for each permission: a connection that was allowed for one request must
	// not be found by another that may not have it.
	private, public *pool
}

// New returns a client, or an error that names the value out of range.
func New(cfg Config) (*Client, error) {
	if cfg.Timeout < 0 || cfg.Reserve < 0 || cfg.MaxWait < 0 || cfg.MaxBytes < 0 {
		return nil, errors.New("timeout, reserve, longest wait and size limit can't be negative")
	}
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
	dial := func(private bool) dialFunc {
		if cfg.Dial != nil {
			return cfg.Dial
		}
		return guardedDial(private, nil)
	}
	return &Client{cfg: cfg, private: newPool(dial(cfg.AllowPrivate)), public: newPool(dial(false))}, nil
}

// Close closes the idle connections.
func (c *Client) Close() {
	c.private.close()
	c.public.close()
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
