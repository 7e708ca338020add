package outbound

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// wire is an upstream below HTTP: it counts the requests that arrive, and answers the
// first as it should, so that the connection is kept, and no other.
type wire struct {
	net.Listener
	requests atomic.Int64
	serve    func(w *wire, conn net.Conn)
}

func newWire(t *testing.T, secure *tls.Config, serve func(*wire, net.Conn)) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	t.Cleanup(func() { l.Close() })
	w := &wire{Listener: l, serve: serve}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				w.serve(w, conn)
			}()
		}
	}()
	return w
}

// cuts closes the connection after each request but the first of all.
func cuts(w *wire, conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		if w.requests.Add(1) > 1 {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
	}
}

// HTTP/2's frames, as far as these tests need them (RFC 9113).
const (
	frameHeaders, frameReset, frameSettings, frameGoAway = 1, 3, 4, 7
	flagEndStream, flagAck                               = 1, 1
	refusedStream                                        = 7
)

// refuses speaks HTTP/2: it answers the first request and then refuses each in the way
// given, which says that it was not processed.
func refuses(refuse func(conn io.Writer, stream uint32)) func(*wire, net.Conn) {
	return func(w *wire, conn net.Conn) {
		preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		if _, err := io.ReadFull(conn, preface); err != nil {
			return
		}
		frame(conn, frameSettings, 0, 0)
		for {
			var head [9]byte
			if _, err := io.ReadFull(conn, head[:]); err != nil {
				return
			}
			length := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
			io.CopyN(io.Discard, conn, length)
			stream := binary.BigEndian.Uint32(head[5:])
			switch {
			case head[3] == frameSettings && head[4]&flagAck == 0:
				frame(conn, frameSettings, flagAck, 0)
			case head[3] == frameHeaders && w.requests.Add(1) == 1:
				frame(conn, frameHeaders, flagEndStream|4, stream, 0x89) // :status 204
			case head[3] == frameHeaders:
				refuse(conn, stream)
			}
		}
	}
}

func frame(w io.Writer, kind, flags byte, stream uint32, payload ...byte) {
	head := []byte{0, 0, byte(len(payload)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(head[5:], stream)
	w.Write(append(head, payload...))
}

// TestRequestsOnTheWire counts below net/http, which must not send again what it was given
// once: not when a kept connection is cut, nor when a stream is refused.
func TestRequestsOnTheWire(t *testing.T) {
	secure, roots := certificate(t)
	for name, serve := range map[string]func(*wire, net.Conn){
		"HTTP/1.1, cut": cuts,
		"HTTP/2, refused": refuses(func(conn io.Writer, stream uint32) {
			frame(conn, frameReset, 0, stream, 0, 0, 0, refusedStream)
		}),
		"HTTP/2, going away": refuses(func(conn io.Writer, _ uint32) {
			frame(conn, frameGoAway, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // no stream was processed
		}),
	} {
		for _, tt := range []struct {
			request Request
			want    int64
		}{
			{Request{}, 4},
			{Request{Method: "PUT", Body: []byte("x")}, 4},
			{Request{Method: "DELETE"}, 4},
			{Request{Method: "POST", Body: []byte("x")}, 1},
			{Request{Method: "POST"}, 1},
			{Request{Method: "POST", Body: []byte("x"), IdempotencyKey: "k"}, 4},
			{Request{Method: "POST", IdempotencyKey: "k"}, 4},
			{Request{Method: "POST", Header: http.Header{"X-Idempotency-Key": {"k"}}}, 1},
			{Request{Attempts: 2}, 2},
		} {
			t.Run(name+" "+tt.request.Method, func(t *testing.T) {
				config, scheme := (*tls.Config)(nil), "http://"
				if name != "HTTP/1.1, cut" {
					config, scheme = secure, "https://"
				}
				w := newWire(t, config, serve) // outside the bubble: see sockets
				synctest.Test(t, func(t *testing.T) {
					c := newClient(t, Config{AllowPrivate: true})
					defer c.Close()
					c.private.transport.TLSClientConfig = &tls.Config{RootCAs: roots, ServerName: "example.com"}
					tt.request.URL = scheme + w.Addr().String()
					if _, err := Do(t.Context(), c, Request{URL: tt.request.URL}, raw); err != nil {
						t.Fatal(err)
					}
					_, err := Do(t.Context(), c, tt.request, raw)
					if got := w.requests.Load() - 1; err == nil || got != tt.want {
						t.Errorf("%d requests, want %d: %v", got, tt.want, err)
					}
				})
			})
		}
	}
}

// certificate is that of a server for example.com, and what verifies it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	return srv.TLS.Clone(), roots
}

// Over HTTP/2 a lost exchange is an error of a stream, of other types; the verdict is
// the same.
func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoken: %s", r.Proto)
		}
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/abort-body":
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	c := newClient(t, Config{AllowPrivate: true})
	defer c.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	c.private.transport.TLSClientConfig = &tls.Config{RootCAs: roots}

	if _, err := Do(t.Context(), c, Request{Method: "POST", URL: srv.URL}, raw); err != nil {
		t.Fatal(err)
	}
	_, err := Do(t.Context(), c, Request{Method: "POST", URL: srv.URL + "/abort"}, raw)
	var e *Error
	if !errors.As(err, &e) || e.Reason != ReasonConnection || e.Stop != StopAmbiguous || e.Attempts != 1 {
		t.Errorf("got %v", err)
	}
	r, err := Do(t.Context(), c, Request{Method: "POST", URL: srv.URL + "/abort-body"}, raw)
	if _, lost := r.Text(); err != nil || r.Status != 200 || lost == nil {
		t.Errorf("accepted, its answer cut off: %v, %d, %v", err, r.Status, lost)
	}
}

// An idle connection is kept for a moment and given up before servers close theirs: a call
// that may not be repeated must not be lost on one.
func TestIdleConnectionsAreShortLived(t *testing.T) {
	overConnections(t, answers(200), func(t *testing.T, c *Client, network *countedNetwork) {
		call := func() {
			t.Helper()
			if _, err := Do(t.Context(), c, Request{Method: "POST", URL: "http://stats.test/"}, raw); err != nil {
				t.Fatal(err)
			}
		}
		call()
		time.Sleep(3 * time.Second)
		call()
		time.Sleep(3 * time.Second)
		call()
		network.counts(t, "used every three seconds", 1, 0)
		time.Sleep(idleTimeout)
		network.counts(t, "four seconds later", 1, 1)
		if n := len(c.private.idle); n != 0 {
			t.Errorf("%d origins are remembered", n)
		}
		call()
		frozen := c.private.idle["http://stats.test:80"][0]
		frozen.since = frozen.since.Add(-idleTimeout) // as the wall clock sees it
		call()
		network.counts(t, "after the process was frozen", 3, 2)
		c.Close()
		network.counts(t, "at the end", 3, 3)
		call()
		network.counts(t, "after the end", 4, 3)
	})
}

// overConnections runs a test in a bubble with a client whose connections are counted.
func overConnections(t *testing.T, h http.Handler, test func(t *testing.T, c *Client, network *countedNetwork)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, stop := countingNetwork(h)
		defer stop()
		c := newClient(t, Config{Dial: network.dial, Jitter: half})
		defer c.Close()
		test(t, c, network)
	})
}

// TestConnectionsAtOnce: of those that many calls at once need, some are kept, each for its own time.
func TestConnectionsAtOnce(t *testing.T) {
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(time.Second) })
	overConnections(t, slow, func(t *testing.T, c *Client, network *countedNetwork) {
		calls := func(n int) {
			var done sync.WaitGroup
			for range n {
				done.Go(func() {
					if _, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, raw); err != nil {
						t.Error(err)
					}
				})
			}
			done.Wait()
		}
		calls(maxIdle + 3)
		network.counts(t, "more than are kept", maxIdle+3, 3)
		time.Sleep(2 * time.Second)
		calls(1) // ends three seconds after the others
		time.Sleep(idleTimeout - 2*time.Second)
		network.counts(t, "the others' time is over", maxIdle+3, maxIdle+2)
		taken := c.private.take("http://stats.test:80")
		c.private.drop("http://stats.test:80", taken)
		network.counts(t, "one that was taken in time", maxIdle+3, maxIdle+2)
		c.private.keep("http://stats.test:80", taken)
		calls(1)
		network.counts(t, "and is used again", maxIdle+3, maxIdle+2)
	})
}

// TestRedirectsGiveConnectionsBack, also those that were made before the redirect left the private hosts.
func TestRedirectsGiveConnectionsBack(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Location", "/there") // and no body: one that is left unread costs the connection
			w.WriteHeader(http.StatusFound)
		}
	})
	overConnections(t, h, func(t *testing.T, c *Client, network *countedNetwork) {
		for range 3 {
			if _, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, raw); err != nil {
				t.Fatal(err)
			}
		}
		network.counts(t, "three calls", 2, 0)
		c.Close()
		network.counts(t, "at the end", 2, 2)
	})
}

// 421 says that the connection leads to the wrong machine.
func TestMisdirectedRequestsTakeAnotherConnection(t *testing.T) {
	overConnections(t, answers(http.StatusMisdirectedRequest), func(t *testing.T, c *Client, network *countedNetwork) {
		if _, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, raw); err == nil {
			t.Error("no error")
		}
		network.counts(t, "four attempts", 4, 4)
	})
}
