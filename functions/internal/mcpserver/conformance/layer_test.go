//go:build interop

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/sqlite"
)

// startLayer serves the whole service with the suites' fixture in its MCP function behind a door,
// and in front of it what adds a key, because the suites send none. It returns the endpoint's URL.
func startLayer(t *testing.T, door string) string {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	listener, front := listen(t), listen(t)
	entrance := listener
	origin := "http://" + front.Addr().String()
	functions := laptop.Defaults(map[string]string{boot.KeyCacheSeconds: "0"})
	mcp := functions["mcp"]
	function := extendedMCP(t, db, origin)
	mcp.Handler = function
	if door == laptop.DoorURL {
		mcp.Handler = boot.HandleStream(function, gateway.Streaming{Function: function}.Stream)
	}
	functions["mcp"] = mcp
	c := laptop.Config{
		Gateway:   apigateway.Config{Domain: listener.Addr().String(), Stage: "local"},
		Functions: functions, Stores: db, Log: t.Output(), Now: time.Now,
	}
	if door != laptop.DoorREST {
		entrance = listen(t)
		c.Door = &laptop.Door{Kind: door, Domain: entrance.Addr().String(), RESTAddress: "http://" + listener.Addr().String()}
	}
	st, err := laptop.New(c)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, st.Server(), listener)
	if door != laptop.DoorREST {
		serve(t, &http.Server{Handler: st.Door(), ReadHeaderTimeout: 10 * time.Second}, entrance)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := st.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	serve(t, &http.Server{Handler: adding(newKey(t, db), entrance.Addr().String()), ReadHeaderTimeout: 10 * time.Second}, front)
	return origin + "/mcp"
}

// extendedMCP is the MCP function of a deployment with the fixture. The suites call from
// the endpoint's own origin, which an owner would allow.
func extendedMCP(t *testing.T, db *sqlite.DB, origin string) *gateway.Function {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	log, err := boot.NewLogger(boot.Map(nil), "mcp", t.Output())
	if err != nil {
		t.Fatal(err)
	}
	function, err := mcpserver.Extended(mcpserver.Config{
		API: api, Authenticator: account.NewAuthenticator(db.Accounts(), time.Now, account.DefaultKeyCache),
		Log: log, AllowedOrigins: []string{origin},
	}, extend, fixtureTools)
	if err != nil {
		t.Fatal(err)
	}
	return function
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

// adding passes everything on as it came, with Host and Origin, and a key; and a progress
// token with the calls of streams.
func adding(key, address string) http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		host := r.In.Host
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = host
		r.Out.Header.Set("x-api-key", key)
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			return // it reaches the server as short as it is
		}
		body = withProgress(body)
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}}
}

func withProgress(body []byte) []byte {
	var call map[string]any
	if json.Unmarshal(body, &call) != nil {
		return body
	}
	params, _ := call["params"].(map[string]any)
	if name, _ := params["name"].(string); !slices.Contains(streams, name) {
		return body
	}
	meta, _ := params["_meta"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
	}
	meta["progressToken"] = "front"
	params["_meta"] = meta
	changed, err := json.Marshal(call)
	if err != nil {
		return body
	}
	return changed
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
