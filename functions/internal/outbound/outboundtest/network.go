// Package outboundtest is a network in memory, so that a call to the outside can run
// under testing/synctest: real HTTP on both ends, virtual time, no sockets.
package outboundtest

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
)

// Network knows hosts by name. The zero value knows none.
type Network struct {
	// Fallback dials the addresses that nobody serves. Nil refuses them.
	Fallback func(ctx context.Context, network, address string) (net.Conn, error)

	mu        sync.Mutex
	listeners map[string]*listener
}

// Serve answers for host (any port) until the returned function is called.
func (n *Network) Serve(host string, h http.Handler) (stop func()) {
	l := &listener{host: host, conns: make(chan net.Conn), done: make(chan struct{})}
	n.mu.Lock()
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	n.listeners[host] = l
	n.mu.Unlock()
	srv := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go srv.Serve(l)
	return func() { srv.Close() }
}

// Dial is for outbound.Config.Dial.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	l := n.listeners[host]
	n.mu.Unlock()
	if l == nil {
		if n.Fallback != nil {
			return n.Fallback(ctx, network, address)
		}
		return nil, fmt.Errorf("no host %s in this network", host)
	}
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	host  string
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return name(l.host) }

type name string

func (name) Network() string  { return "memory" }
func (n name) String() string { return string(n) }
