package laptop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/usage"
)

// startDoor is start with a door of a kind for /mcp, where calls go; rest calls the REST API.
func startDoor(t *testing.T, kind string, plans account.Plans, change func(*laptop.Config)) (door, rest *service) {
	t.Helper()
	if kind == laptop.DoorREST {
		s := start(t, plans, change)
		return s, s
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rest = start(t, plans, func(c *laptop.Config) {
		c.Door = &laptop.Door{Kind: kind, Domain: listener.Addr().String(), RESTAddress: "http://" + c.Gateway.Domain}
		if kind == laptop.DoorURL {
			behindURL(t, c)
		}
		if change != nil {
			change(c)
		}
	})
	server := &http.Server{Handler: rest.Door()}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	copied := *rest
	copied.base = "http://" + listener.Addr().String()
	return &copied, rest
}

// behindURL sets mcp up for a function URL, which it can't learn the REST API's address by: it
// dispatches calls itself.
func behindURL(t *testing.T, c *laptop.Config) {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	direct, err := laptop.Dispatching(api, boot.Direct)
	if err != nil {
		t.Fatal(err)
	}
	f := c.Functions[laptop.MCP]
	f.Env = maps.Clone(f.Env)
	maps.Copy(f.Env, direct)
	f.Env[boot.Streaming] = "true"
	c.Functions[laptop.MCP] = f
}

// TestDoors holds everything that differs for a client by the door that it comes by, in one file a
// door: what is not there is the same, byte by byte, as through the REST API.
func TestDoors(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"postal.lookup","arguments":{"postal_code":"`
	plans := account.Plans{"demo": usage.PerMonth(1)}
	rest := start(t, plans, nil)
	for _, kind := range []string{laptop.DoorHTTP, laptop.DoorURL} {
		t.Run(kind, func(t *testing.T) {
			door, _ := startDoor(t, kind, plans, nil)
			keys := map[*service]string{}
			for _, s := range []*service{rest, door} {
				secret, _ := s.newKey("demo")
				keys[s] = secret.Reveal()
			}
			var differ bytes.Buffer
			for _, c := range []struct {
				method, path, body string
				key                bool
				header             []string
			}{
				{method: "GET", path: "/.well-known/oauth-protected-resource"},
				{method: "GET", path: "/.well-known/oauth-authorization-server"},
				{method: "POST", path: "/register", body: `{}`},
				{method: "GET", path: "/authorize"},
				{method: "GET", path: "/mcp"},
				{method: "DELETE", path: "/mcp"},
				{method: "OPTIONS", path: "/mcp", header: []string{"Origin", "https://a.example", "Access-Control-Request-Method", "POST"}},
				{method: "POST", path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
				{method: "POST", path: "/mcp", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, key: true},
				{method: "POST", path: "/mcp/", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, key: true},
				{method: "POST", path: "/mcp?a=1", body: `{"jsonrpc":`, key: true},
				{method: "POST", path: "/mcp", body: call + `1"}}}`, key: true},
				{method: "POST", path: "/mcp", body: call + `1000001"}}}`, key: true, header: []string{"Accept", "text/event-stream"}},
				{method: "POST", path: "/mcp", body: call + `1000001"}}}`, key: true},
				{method: "GET", path: "/v1/health"},
			} {
				var texts [2]string
				for i, s := range []*service{rest, door} {
					key := ""
					if c.key {
						key = keys[s]
					}
					text := write(c.method, c.path, c.body, s.call(c.method, c.path, key, c.body, c.header...))
					if err := s.Flush(t.Context()); err != nil { // of proxy and direct, only the latter refunds before it answers
						t.Fatal(err)
					}
					texts[i] = countdowns.ReplaceAllString(string(text), "${1}N")
				}
				if texts[0] != texts[1] {
					differ.WriteString(texts[1] + "\n")
				}
			}
			file := filepath.Join("testdata", "doors", kind+".txt")
			if *update {
				if err := os.WriteFile(file, differ.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(differ.Bytes(), want) {
				t.Errorf("%s has\n%s\ngot\n%s", file, want, differ.Bytes())
			}
		})
	}
}

// countdowns are the waits until a limit is reset, which get shorter from one call to the next.
var countdowns = regexp.MustCompile(`(;t=|Retry-After: |retryAfterMs\\?": ?)\d+`)

// TestProgressOverTheWire: an HTTP client has the notification that a call has begun before the
// operation's function answers, by every door that streams.
func TestProgressOverTheWire(t *testing.T) {
	for name, change := range map[string]func(*laptop.Config){
		laptop.DoorURL: nil,
		laptop.DoorREST: func(c *laptop.Config) {
			c.Gateway.Streaming = "mcp"
			f := c.Functions["mcp"]
			f.Env = map[string]string{boot.Streaming: "true", boot.KeyCacheSeconds: "0"}
			c.Functions["mcp"] = f
		},
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan struct{})
			door, _ := startDoor(t, name, account.Plans{"demo": usage.PerMonth(10)}, func(c *laptop.Config) {
				replace(c, "postal", boot.Handle(func(context.Context, json.RawMessage) (any, error) {
					<-heard
					return map[string]any{"statusCode": 200, "body": `{"postal_code":"1000001"}`}, nil
				}))
				if change != nil {
					change(c)
				}
			})
			secret, _ := door.newKey("demo")
			request, err := http.NewRequestWithContext(t.Context(), "POST", door.base+"/mcp", strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"postal.lookup","arguments":{"postal_code":"1000001"},"_meta":{"progressToken":1}}}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header = http.Header{"X-Api-Key": {secret.Reveal()}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var events []string
			for lines := bufio.NewScanner(response.Body); lines.Scan(); {
				if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
					events = append(events, data)
					if len(events) == 1 {
						close(heard)
					}
				}
			}
			if len(events) != 3 || !strings.Contains(events[0], "begun") || !strings.Contains(events[1], "finished") || !strings.Contains(events[2], `"result"`) {
				t.Errorf("%d %v: %q", response.StatusCode, response.Header, events)
			}
		})
	}
}

// TestDoorIsTheOnlyOne: the REST API does not serve /mcp where there is another door, and goes on
// to serve the rest.
func TestDoorIsTheOnlyOne(t *testing.T) {
	_, rest := startDoor(t, laptop.DoorHTTP, account.Plans{"demo": usage.PerMonth(1)}, nil)
	if a := rest.call("POST", "/mcp", "", `{}`); a.status != 404 || a.json(t)["error"] != "route_not_found" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := rest.call("GET", "/v1/health", "", ""); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestDoorStops: the service ends with its door, and leaves no call behind.
func TestDoorStops(t *testing.T) {
	_, s := startDoor(t, laptop.DoorHTTP, account.Plans{"demo": usage.PerMonth(1)}, nil)
	var listeners [2]net.Listener
	for i := range listeners {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, laptop.Listeners{API: listeners[0], Door: listeners[1]}) }()
	for i, want := range []int{404, 401} {
		at := *s
		at.base = "http://" + listeners[i].Addr().String()
		if a := at.call("POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.status != want {
			t.Errorf("%d, want %d: %s", a.status, want, a.body)
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the service does not stop")
	}
}
