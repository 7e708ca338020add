//go:build interop

package backends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
	"gopkg.in/yaml.v3"
)

// api is one that nobody here wrote.
type api struct {
	name string
	// start starts it, and returns its description and the flags that lead to it.
	start func(t *testing.T) (description string, flags []string)
	// lists is a tool that every list names: of the API, or the one that finds others.
	lists string
	good  call
	// bad are calls that fail.
	bad []call
}

// call of a tool; of a good one, says is in the answer, and of a bad one it is the refusal.
type call struct {
	tool      string
	arguments map[string]any
	says      string
}

func all() []api {
	return []api{
		{
			name: "go-httpbin 2.26.0", start: startHTTPBin, lists: "requests_post",
			good: call{"requests_post", map[string]any{"note": "東京"}, `"note": "東京"`},
			bad: []call{
				{"answers_status", map[string]any{"code": 404}, "backend_refused 404"},
				{"answers_status", map[string]any{"code": 401}, "upstream_auth"},
				{"answers_status", map[string]any{"code": 500}, "upstream_failed"},
				{"answers_delay", map[string]any{"seconds": 3}, "upstream_timeout"},
			},
		},
		{
			name: "Alertmanager 0.28.1", start: startAlertmanager, lists: "alert_post_alerts",
			good: call{"alert_post_alerts", map[string]any{"body": []any{map[string]any{"labels": `{"alertname":"DiskFull"}`}}}, ""},
			bad: []call{
				{"silence_get_silence", map[string]any{"silenceID": "0e7c3f4a-5b1d-4c7e-9c53-1f2a3b4c5d6e"}, "backend_refused 404"},
				{"alert_post_alerts", map[string]any{"body": []any{map[string]any{"labels": `{}`}}}, "backend_refused 400"},
			},
		},
		{
			name: "Figma's API, by Prism 5.16.0", start: startPrism("@figma/rest-api-spec/openapi/openapi.yaml", "X-Figma-Token: env:SOME_TOKEN", "/v1/me", "/v1/files/{file_key}/variables"), lists: "users_get_me",
			good: call{"users_get_me", nil, `"handle":"string"`},
			bad: []call{{"variables_post_variables", map[string]any{"file_key": "k", "variableModeValues": []any{
				map[string]any{"variableId": "v", "modeId": "m", "value": "[1]"},
			}}, "backend_refused 400"}},
		},
		{
			name: "GitHub's API, by Prism 5.16.0", start: startPrism("@octokit/openapi/generated/api.github.com.json", "Authorization: Bearer env:SOME_TOKEN"), lists: "utility_find_tools",
			good: call{"issues_get", map[string]any{"owner": "octocat", "repo": "hello", "issue_number": 1347}, `"number":1347`},
			bad:  []call{{"issues_list_for_repo", map[string]any{"owner": "octocat", "repo": "hello", "since": "yesterday"}, "backend_refused 422"}},
		},
		{
			name: "a Python handler for Lambda", start: startHandler, lists: "orders_order",
			good: call{"orders_order", map[string]any{"id": "A-1"}, `"id": "A-1"`},
			bad: []call{
				{"orders_order", map[string]any{"id": "missing"}, "backend_refused 404"},
				{"orders_order", map[string]any{"id": "crash"}, "backend_failed"},
			},
		},
	}
}

// drive takes each client through a list, good calls, failing ones, and the limit.
func (a api) drive(t *testing.T) string {
	description, flags := a.start(t)
	data := t.TempDir()
	flags = append(flags, "--api", description, "--plan", "demo=2", "--backend-timeout", "1s")
	service := binary.Up(t, nil, data, flags...)
	sekisho := binary.On(nil, "--data", data)
	tools, limit := 0, problem{}
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		var made struct{ Key string }
		must(t, json.Unmarshal([]byte(sekisho(t, "keys", "create", "--user", "demo", "--json")), &made))
		d := driven{t, clients[name](t, service.MCPURL, made.Key), name}
		list, err := d.client.list(t.Context())
		must(t, err)
		if tools = len(list); !slices.Contains(list, a.lists) {
			t.Errorf("%s lists %q", name, list)
		}
		d.succeeds(a.good)
		for _, bad := range a.bad { // one after the other: with all at once, the limit would refuse them
			d.fails(bad)
			d.waitForUsed(1)
		}
		d.succeeds(a.good)
		limit = d.fails(call{a.good.tool, a.good.arguments, "limit_exceeded"})
	}
	var failed []string
	for _, bad := range a.bad {
		failed = append(failed, fmt.Sprintf("`%s`: %s", bad.tool, bad.says))
	}
	return fmt.Sprintf("| %s | %d | `%s` | %s | %s |\n", a.name, tools, a.good.tool, strings.Join(failed, "; "), limit)
}

type driven struct {
	t      *testing.T
	client client
	name   string
}

func (d driven) succeeds(c call) {
	d.t.Helper()
	text, isError, err := d.client.call(d.t.Context(), c.tool, c.arguments)
	if err != nil || isError || !strings.Contains(text, c.says) {
		d.t.Fatalf("%s: %s %v: %v: %.500s, want %s", d.name, c.tool, c.arguments, err, text, c.says)
	}
}

func (d driven) fails(c call) (p problem) {
	d.t.Helper()
	text, isError, err := d.client.call(d.t.Context(), c.tool, c.arguments)
	if err != nil || !isError || json.Unmarshal([]byte(text), &p) != nil || p.String() != c.says || p.Hint == "" || strings.Contains(text, "hunter2") {
		d.t.Fatalf("%s: %s %v: %v: %.500s, want %s", d.name, c.tool, c.arguments, err, text, c.says)
	}
	return p
}

func (d driven) waitForUsed(want int) {
	d.t.Helper()
	var text string
	for range 300 {
		var err error
		text, _, err = d.client.call(d.t.Context(), "utility_get_usage", nil)
		must(d.t, err)
		if strings.Contains(text, fmt.Sprintf(`"monthly_used":%d,`, want)) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	d.t.Fatalf("%s: not given back: %s", d.name, text)
}

func startHTTPBin(t *testing.T) (string, []string) {
	server := httptest.NewServer(httpbin.New())
	t.Cleanup(server.Close)
	return "testdata/httpbin.yaml", []string{"--backend", server.URL, "--backend-auth", "Authorization: Bearer env:SOME_TOKEN"}
}

const alertmanager = "github.com/prometheus/alertmanager"

// startAlertmanager builds it of the Go proxy's source, where its description lies too.
func startAlertmanager(t *testing.T) (string, []string) {
	const version = "v0.28.1"
	bin, err := filepath.Abs("../../../.cache/alertmanager-" + version)
	must(t, err)
	install := exec.CommandContext(t.Context(), "go", "install", alertmanager+"/cmd/alertmanager@"+version)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", alertmanager+"@"+version)
	download.Dir = t.TempDir()
	out, err := download.Output()
	must(t, err)
	var source struct{ Dir string }
	must(t, json.Unmarshal(out, &source))
	at := freeAddress(t)
	config := filepath.Join(t.TempDir(), "alertmanager.yml")
	must(t, os.WriteFile(config, []byte("route: { receiver: nobody }\nreceivers: [{ name: nobody }]\n"), 0o600))
	start(t, "http://"+at+"/-/ready", filepath.Join(bin, "alertmanager"),
		"--config.file", config, "--storage.path", t.TempDir(), "--web.listen-address", at, "--cluster.listen-address=")
	return filepath.Join(source.Dir, "api", "v2", "openapi.yaml"), []string{"--backend", "http://" + at + "/api/v2"}
}

// startPrism plays a description of an npm package, or these paths of it: Prism makes examples of
// everything before it listens. The meter is before the whole of it.
func startPrism(path, auth string, paths ...string) func(*testing.T) (string, []string) {
	return func(t *testing.T) (string, []string) {
		description := filepath.Join(packages.Modules, filepath.FromSlash(path))
		played := description
		if len(paths) > 0 {
			played = filepath.Join(t.TempDir(), "played.yaml")
			must(t, os.WriteFile(played, only(t, description, paths), 0o600))
		}
		return description, []string{"--backend", play(t, played), "--backend-auth", auth}
	}
}

// only is a description with these paths only.
func only(t *testing.T, description string, paths []string) []byte {
	t.Helper()
	text, err := os.ReadFile(description)
	must(t, err)
	var whole map[string]any
	must(t, yaml.Unmarshal(text, &whole))
	maps.DeleteFunc(whole["paths"].(map[string]any), func(path string, _ any) bool { return !slices.Contains(paths, path) })
	text, err = yaml.Marshal(whole)
	must(t, err)
	return text
}

func play(t *testing.T, description string) string {
	at := freeAddress(t)
	host, port, err := net.SplitHostPort(at)
	must(t, err)
	start(t, "http://"+at+"/", packages.Node(),
		filepath.Join(packages.Modules, "@stoplight", "prism-cli", "dist", "index.js"),
		"mock", "--host", host, "--port", port, "--verboseLevel", "error", description)
	return "http://" + at
}

// startHandler invokes a handler as Lambda's runtime interface emulator does: one process a call.
func startHandler(t *testing.T) (string, []string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/2015-03-31/functions/orders/invocations" {
			http.NotFound(w, r)
			return
		}
		run := exec.CommandContext(r.Context(), "python3", "testdata/handler.py")
		run.Stdin = r.Body
		answer, err := run.Output()
		if err != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			answer = []byte(`{"errorType":"RuntimeError","errorMessage":"the database's password is hunter2"}`)
		}
		w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return "testdata/handler.yaml", []string{"--backend", "lambda:" + server.URL + "/orders"}
}

// start runs a program until the test ends, and waits until it answers at ready.
func start(t *testing.T, ready, program string, args ...string) {
	t.Helper()
	command := exec.Command(program, args...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	must(t, command.Start())
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
	})
	for range 1800 {
		if response, err := http.Get(ready); err == nil {
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v: %s", program, err, said.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not answer", program)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
