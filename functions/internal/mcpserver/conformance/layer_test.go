//go:build interop

package conformance

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/sqlite"
)

// startLayer serves the whole service with the suites' fixture in its MCP function, and in
// front of it what adds a key, because the suites send none. It returns the endpoint's URL.
func startLayer(t *testing.T) string {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	listener, front := listen(t), listen(t)
	origin := "http://" + front.Addr().String()
	st, err := laptop.New(laptop.Config{
		Functions: laptop.Defaults(map[string]string{boot.KeyCacheSeconds: "0"}),
		Stores:    db, Domain: listener.Addr().String(), Stage: "local", Log: t.Output(), Now: time.Now,
		Replace: map[string]apigateway.Invoker{"mcp": extendedMCP(t, db, origin)},
	})
	if err != nil {
		t.Fatal(err)
	}
	serve(t, st.Server(), listener)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := st.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	serve(t, &http.Server{Handler: adding(newKey(t, db), listener.Addr().String()), ReadHeaderTimeout: 10 * time.Second}, front)
	return origin + "/mcp"
}

// extendedMCP is the MCP function of a deployment, but for the fixture. The suites call from
// the endpoint's own origin, which an owner would allow.
func extendedMCP(t *testing.T, db *sqlite.DB, origin string) apigateway.Invoker {
	api, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	log, err := boot.NewLogger(boot.Map(nil), "mcp", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	handle, err := mcpserver.Handler(mcpserver.Config{
		API: api, Authenticator: account.NewAuthenticator(db.Accounts(), time.Now, account.DefaultKeyCache),
		Log: log, Extend: extend, ExtendStreams: streams, AllowedOrigins: []string{origin},
	})
	if err != nil {
		t.Fatal(err)
	}
	return boot.Handle(handle)
}

func newKey(t *testing.T, db *sqlite.DB) string {
	ring := account.Keyring{Store: db.Accounts(), Plans: account.DefaultPlans(), Now: time.Now}
	if _, err := ring.CreateUser(t.Context(), "conformance", "free"); err != nil {
		t.Fatal(err)
	}
	secret, _, err := ring.CreateKey(t.Context(), "conformance", "")
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal()
}

// adding passes everything on as it came, with Host and Origin, and a key.
func adding(key, address string) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		host := r.In.Host
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = host
		r.Out.Header.Set("x-api-key", key)
	}}
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func serve(t *testing.T, s *http.Server, l net.Listener) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.Serve(l); err != http.ErrServerClosed {
			t.Errorf("serving: %v", err)
		}
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
}
