package outbound

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// idleTimeout is shorter than servers keep a connection (5 s and up): a request sent
	// on one that the server has just closed fails, and may not be repeatable. It is
	// compared by the wall clock too, since a Lambda may be frozen in between.
	idleTimeout = 4 * time.Second
	maxIdle     = 16 // connections kept per origin
)

// pool sends each request once and keeps connections between requests.
//
// [http.Transport.RoundTrip] does not do the first: when a kept connection turns out to
// be closed, or an HTTP/2 server refuses a stream, it sends the request again by itself,
// up to seven times, a POST with an Idempotency-Key included. Attempts are counted here,
// so nothing below may repeat them. An [http.ClientConn] never does.
type pool struct {
	transport *http.Transport

	mu   sync.Mutex
	idle map[string][]*connection // by origin, the latest last
}

// connection carries one request at a time, over HTTP/2 too.
type connection struct {
	*http.ClientConn
	peer   net.Addr
	since  time.Time // when it became idle
	expire *time.Timer
}

// peerKey leads from a dial's context to where the address that it reached is noted:
// the transport doesn't show its connections.
type peerKey struct{}

// newPool uses no proxy: a proxy would resolve the name itself, and the address check
// would look at the proxy's address instead of the upstream's.
func newPool(dial dialFunc) *pool {
	return &pool{
		transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if peer, ok := ctx.Value(peerKey{}).(*net.Addr); ok && err == nil {
					*peer = conn.RemoteAddr()
				}
				return conn, err
			},
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		idle: map[string][]*connection{},
	}
}

// roundTrip sends req. The connection is kept once the answer's body is read in full
// and closed. peer is the address that it was sent to; nil means that the upstream
// certainly never saw the request.
func (p *pool) roundTrip(req *http.Request) (resp *http.Response, peer net.Addr, err error) {
	origin := originOf(req.URL)
	conn, err := p.connect(req.Context(), origin, req.URL)
	if err != nil {
		return nil, nil, err
	}
	resp, err = conn.RoundTrip(req)
	if err != nil {
		conn.Close()
		return nil, conn.peer, err
	}
	resp.Body = &body{ReadCloser: resp.Body, done: func() {
		if resp.StatusCode == http.StatusMisdirectedRequest { // this connection is the mistake
			conn.Close()
			return
		}
		p.keep(origin, conn)
	}}
	return resp, conn.peer, nil
}

func (p *pool) connect(ctx context.Context, origin string, u *url.URL) (*connection, error) {
	for conn := p.take(origin); conn != nil; conn = p.take(origin) {
		if time.Now().Round(0).Sub(conn.since) < idleTimeout && conn.Reserve() == nil {
			return conn, nil
		}
		conn.Close()
	}
	var peer net.Addr
	dialling := context.WithValue(ctx, peerKey{}, &peer)
	conn, err := p.transport.NewClientConn(dialling, u.Scheme, net.JoinHostPort(u.Hostname(), port(u)))
	if err != nil {
		return nil, err
	}
	return &connection{ClientConn: conn, peer: peer}, nil
}

func (p *pool) take(origin string) *connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	conns := p.idle[origin]
	if len(conns) == 0 {
		return nil
	}
	conn := conns[len(conns)-1]
	p.idle[origin] = conns[:len(conns)-1]
	conn.expire.Stop()
	return conn
}

func (p *pool) keep(origin string, conn *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle[origin]) >= maxIdle {
		conn.Close()
		return
	}
	conn.since = time.Now().Round(0) // without the monotonic clock
	conn.expire = time.AfterFunc(idleTimeout, func() { p.drop(origin, conn) })
	p.idle[origin] = append(p.idle[origin], conn)
}

// drop closes a connection that nobody has taken in time.
func (p *pool) drop(origin string, conn *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.idle[origin], conn)
	if i < 0 {
		return // taken meanwhile
	}
	p.idle[origin] = slices.Delete(p.idle[origin], i, i+1)
	conn.Close()
	if len(p.idle[origin]) == 0 {
		delete(p.idle, origin)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conns := range p.idle {
		for _, conn := range conns {
			conn.Close() // drop forgets it
		}
	}
}

// body runs done when it is closed.
type body struct {
	io.ReadCloser
	done func()
	once sync.Once
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.done)
	return err
}
