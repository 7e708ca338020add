package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const description = "../../../tests/ownapi/example/openapi.json"

// ordersAPI answers as the description of tests/ownapi says, to those with the token.
func ordersAPI(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.PathValue("id") != "o_1" {
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"title":"no such order"}`)
			return
		}
		io.WriteString(w, `{"id":"o_1","status":"open"}`)
	})
	mux.HandleFunc("POST /v2/orders", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		body, _ := io.ReadAll(r.Body)
		json.NewEncoder(w).Encode(map[string]any{"id": r.Header.Get("Idempotency-Key"), "sent": json.RawMessage(body)})
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestUpAPI: one command puts a meter before an API, and a restart goes on counting.
func TestUpAPI(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	data := t.TempDir()
	args := []string{
		"--api", description, "--backend", ordersAPI(t).URL + "/v2", "--backend-auth", "Authorization: Bearer env:TOKEN",
		"--data", data, "--plan", "demo=3",
	}
	up := startUp(t, args...)
	key := up.keys["demo"]
	_, list := up.send("POST", "/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if strings.Contains(list, "postal_lookup") || !strings.Contains(list, `"name":"utility_get_usage"`) || !strings.Contains(list, `"name":"orders_get_order"`) {
		t.Errorf("listed: %.400s", list)
	}
	up.tool(key, "orders_get_order", `{"orderId":"o_1"}`, `"structuredContent":{"id":"o_1","status":"open"}`)
	up.tool(key, "orders_get_order", `{"orderId":"o_2"}`, `backend_refused`)
	up.get(key, "/orders/o_2", http.StatusNotFound)
	waitForUsed(t, up, key, `"monthly_used":1`)
	up.tool(key, "orders_create_order", `{"idempotency_key":"k1","customerId":"c","items":[{"sku":"s","quantity":1}],"shipTo":{"line1":"l","postal_code":"p"},"meta":"{\"a\":1}"}`,
		`"sent":{"customerId":"c","items":[{"quantity":1,"sku":"s"}],"meta":{"a":1},"shipTo":{"line1":"l","postal-code":"p"}}`)
	waitForUsed(t, up, key, `"monthly_used":2`)
	up.stop()

	// The tools that an engineer asks about are those that were served.
	out, _, _ := sekisho(t, "tools", "--data", data)
	if !strings.Contains(out, "orders_get_order") || strings.Contains(out, "postal_lookup") {
		t.Errorf("tools: %s", out)
	}
	if out, _, _ := sekisho(t, "usage", "export", "--data", data); !strings.Contains(out, "orders.get_order") || !strings.Contains(out, "orders.create_order") {
		t.Errorf("usage export: %s", out)
	}
	up = startUp(t, args...)
	if len(up.keys) != 0 {
		t.Errorf("new keys: %v", up.keys)
	}
	up.get(key, "/orders/o_1", http.StatusOK)
	up.get(key, "/orders/o_1", http.StatusTooManyRequests)
	up.tool(key, "orders_get_order", `{"orderId":"o_1"}`, `limit_exceeded`)
}

func waitForUsed(t *testing.T, up *running, key, want string) {
	t.Helper()
	var body string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, body = up.send("GET", "/v1/user/usage", key, ""); strings.Contains(body, want) {
			return
		}
	}
	t.Fatalf("usage: %s, want %s", body, want)
}

// TestUpAPIBesideTools: the tools of this repository stay, on request.
func TestUpAPIBesideTools(t *testing.T) {
	up := startUp(t, "--api", description, "--with-tools", "--read-only", "--prefix", "/shop", "--backend", "example="+ordersAPI(t).URL, "--data", t.TempDir(), "--plan", "demo=9")
	_, list := up.send("POST", "/mcp", up.keys["demo"], `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for name, want := range map[string]bool{"postal_lookup": true, "orders_get_order": true, "external_fetch_stats": true, "orders_create_order": false} {
		if strings.Contains(list, `"name":"`+name+`"`) != want {
			t.Errorf("%s is listed: %v", name, !want)
		}
	}
	// Our token is missing, so it is not the caller who is refused.
	up.get(up.keys["demo"], "/shop/orders/o_1", http.StatusUnauthorized)
}

// TestUpAPITells: what became of the description, where calls go, and what is missing, each once.
func TestUpAPITells(t *testing.T) {
	t.Setenv("TOKEN", "s3cret")
	relative := filepath.Join(t.TempDir(), "relative.json")
	text := `{"openapi":"3.0.3","info":{"title":"Shop","version":"1"},"servers":[{"url":"/api/v3"}],"paths":{"/a":{"get":{"responses":{"200":{"description":"d"}}}}}}`
	if err := os.WriteFile(relative, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args         []string
		says, doesnt string
	}{
		"its own server": {[]string{"--api", description}, "example: calls go to the description's server, https://api.example.com/v2; --backend names another.", ""},
		"no credential": {[]string{"--api", description, "--backend", "https://a.example/v2"},
			"Warning: example asks for a credential, and none is given: add --backend-auth example='Authorization: Bearer env:EXAMPLE_TOKEN'", "calls go to"},
		"a credential": {[]string{"--api", description, "--backend-auth", "Authorization: Bearer env:TOKEN"}, "10 operations, 9 imported, 9 of them tools", "Warning"},
		"a path less":  {[]string{"--api", relative, "--backend", "https://a.example"}, "the description's server has the path /api/v3, and https://a.example has none", "names no server"},
		"all of it":    {[]string{"--api", relative, "--backend", "https://a.example/api/v3"}, "1 of them tools", "/api/v3"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			out := &untilReady{stop: cancel}
			var errs bytes.Buffer
			code := run(ctx, append([]string{"up", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, c.args...), streams{out, &errs, os.Getenv})
			if code != exitOK || !strings.Contains(errs.String(), c.says) || c.doesnt != "" && strings.Contains(errs.String(), c.doesnt) {
				t.Errorf("exit code %d: %s\nwant %q and not %q", code, errs.String(), c.says, c.doesnt)
			}
		})
	}
}

// untilReady stops the service as soon as it has said that it is ready.
type untilReady struct{ stop func() }

func (u *untilReady) Write(text []byte) (int, error) {
	u.stop()
	return len(text), nil
}

// TestUpAPIRefuses: what is wrong or missing is said before anything is made.
func TestUpAPIRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	paths := `"paths":{"/a":{"get":{"responses":{"200":{"description":"d"}}}}}}`
	homeless := write("homeless.json", `{"openapi":"3.0.3","info":{"title":"Shop","version":"1"},`+paths)
	relative := write("relative.json", `{"openapi":"3.0.3","info":{"title":"Shop","version":"1"},"servers":[{"url":"/api/v3"}],`+paths)
	imported := write("api.yaml", "openapi: 3.0.3\nx-sekisho-import: {}\n")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no file":             {[]string{"--api", filepath.Join(dir, "none.json")}, "none.json"},
		"no description":      {[]string{"--api", write("broken.yaml", "paths: {")}, "not valid YAML"},
		"no server":           {[]string{"--api", homeless}, "names no server: give --backend shop=https://HOST"},
		"a server's path":     {[]string{"--api", relative}, "/api/v3, has no host: give --backend shop=https://HOST/api/v3"},
		"another backend":     {[]string{"--api", homeless, "--backend", "orders=https://a.example"}, `there is no backend "orders"; there are: shop`},
		"no variable":         {[]string{"--api", homeless, "--backend", "https://a.example", "--backend-auth", "Authorization: Bearer env:SEKISHO_NO_SUCH"}, "SEKISHO_NO_SUCH is not set"},
		"nothing left":        {[]string{"--api", homeless, "--include", "tag:none"}, "none of its 1 operations is left"},
		"a contract":          {[]string{"--api", imported}, "give it as --contract"},
		"two contracts":       {[]string{"--api", homeless, "--contract", imported}, "give one of them"},
		"a filter of nothing": {[]string{"--read-only"}, "go with --api"},
		"what was applied":    {[]string{"--api", homeless, "--applied", imported}, "--api can't be combined with --applied"},
	} {
		data := filepath.Join(dir, "data")
		_, errs, code := sekisho(t, append([]string{"up", "--listen", "127.0.0.1:0", "--data", data}, c.args...)...)
		if code != exitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, %q; want %q", name, code, errs, c.says)
		}
		if _, err := os.Stat(data); err == nil {
			t.Errorf("%s: a refused start made a data directory", name)
		}
	}
}
