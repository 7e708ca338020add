package laptop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
	"golang.org/x/text/encoding/japanese"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/usage"
)

// ownAPI is a service before an API that nobody here wrote: go-httpbin, with a few files.
type ownAPI struct {
	*service
	mu       sync.Mutex
	requests []*http.Request
}

// saw forgets what the backend received so far and returns it.
func (o *ownAPI) saw() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	requests := o.requests
	o.requests = nil
	return requests
}

func startOwnAPI(t *testing.T, set func(*backend.Settings)) *ownAPI {
	t.Helper()
	o := &ownAPI{}
	mux := http.NewServeMux()
	mux.Handle("/", httpbin.New())
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `"`+strings.Repeat("x", 20<<20)+`"`)
	})
	mux.HandleFunc("/sjis", func(w http.ResponseWriter, _ *http.Request) {
		text, _ := japanese.ShiftJIS.NewEncoder().String(`{"name":"東京"}`)
		w.Header().Set("Content-Type", "application/json; charset=shift_jis")
		io.WriteString(w, text)
	})
	mux.HandleFunc("/list", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `[1,2]`)
	})
	mux.HandleFunc("/picture", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		io.WriteString(w, "\x89PNG\r\n")
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.requests = append(o.requests, r)
		o.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	path, api := ownContract(t)
	o.service = start(t, account.Plans{"demo": usage.PerMonth(1000)}, func(c *laptop.Config) {
		c.Contract = path
		c.Functions = laptop.FunctionsOf(api, c.Functions[laptop.Authorizer].Env)
		s := backend.Settings{Name: "bin", URL: server.URL, Private: true, Auth: &backend.Auth{Type: backend.Bearer, Place: backend.Place{Env: "token"}}}
		if set != nil {
			set(&s)
		}
		serveBackend(c, "bin", s)
	})
	return o
}

// ownContract merges testdata/bin.yaml.
func ownContract(t *testing.T) (path string, api *contract.API) {
	t.Helper()
	text, err := os.ReadFile("testdata/bin.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tools, err := source.JSON(text)
	if err != nil {
		t.Fatal(err)
	}
	base, err := source.JSON(contract.Base())
	if err != nil {
		t.Fatal(err)
	}
	merged, err := contract.Merge(base, tools)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), contract.File)
	if err := os.WriteFile(path, merged, 0o600); err != nil {
		t.Fatal(err)
	}
	if api, err = contract.Parse(merged); err != nil {
		t.Fatal(err)
	}
	return path, api
}

// result of a tool, as a client gets it.
type result struct {
	IsError           bool
	StructuredContent map[string]any
	Content           []struct{ Text string }
}

func (s *service) tool(secret, name, arguments string) (r result, text map[string]any) {
	s.t.Helper()
	a := s.call("POST", "/mcp", secret,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, name, arguments),
		"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")
	var out struct{ Result result }
	if err := json.Unmarshal(a.body, &out); err != nil || len(out.Result.Content) != 1 {
		s.t.Fatalf("%v in %d %.500s", err, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(out.Result.Content[0].Text), &text); err != nil {
		s.t.Fatal(err)
	}
	return out.Result, text
}

// TestAnAPIThatNobodyHereWrote, by REST and by MCP: what it answers, and what is charged for it.
func TestAnAPIThatNobodyHereWrote(t *testing.T) {
	t.Parallel()
	o := startOwnAPI(t, func(s *backend.Settings) { s.TimeoutSeconds = 0.3 })
	secret, key := o.newKey("demo")
	charged, refunded := int64(0), int64(0)
	for _, c := range []struct {
		path, tool, arguments string
		status                int
		holds                 string // the REST answer
		shown                 string // the MCP result
	}{
		{"/bin/status/200", "bin_status", `{"code":"200"}`, 200, "", `{"status":200}`},
		{"/bin/status/204", "bin_status", `{"code":"204"}`, 204, "", `{"status":204}`},
		{"/bin/status/418", "bin_status", `{"code":"418"}`, 418, "teapot", `backend_refused`},
		{"/bin/status/404", "bin_status", `{"code":"404"}`, 404, "", `"status":404`},
		{"/bin/status/401", "bin_status", `{"code":"401"}`, 502, "upstream_auth", `upstream_auth`},
		{"/bin/status/500", "bin_status", `{"code":"500"}`, 502, "upstream_failed", `upstream_failed`},
		{"/bin/redirect?url=%2Fstatus%2F202", "bin_redirect", `{"url":"/status/202"}`, 202, "", `{"status":202}`},
		{"/bin/delay/10", "bin_delay", `{"seconds":"10"}`, 504, "upstream_timeout", "upstream_timeout"},
		{"/bin/file/big", "bin_file", `{"name":"big"}`, 422, "answer_too_large", "answer_too_large"},
		{"/bin/file/sjis", "bin_file", `{"name":"sjis"}`, 200, `{"name":"東京"}`, `{"name":"東京"}`},
		{"/bin/file/picture", "bin_file", `{"name":"picture"}`, 502, "answer_not_text", "answer_not_text"},
		{"/bin/file/deny", "bin_file", `{"name":"deny"}`, 200, "YOU SHOULDN", `{"text":"`},
		{"/bin/list", "bin_list", `{}`, 200, "[1,2]", `{"result":[1,2]}`},
	} {
		a := o.call("GET", c.path, secret.Reveal(), "")
		if a.status != c.status || !strings.Contains(string(a.body), c.holds) {
			t.Errorf("%s: %d %.300s; want %d %s", c.path, a.status, a.body, c.status, c.holds)
		}
		r, _ := o.tool(secret.Reveal(), c.tool, c.arguments)
		if r.IsError != (c.status >= 400) || r.IsError != (r.StructuredContent == nil) || !strings.Contains(r.Content[0].Text, c.shown) {
			t.Errorf("%s: %+v; want %s", c.tool, r, c.shown)
		}
		if c.status >= 400 {
			refunded += 2
		} else {
			charged += 2
		}
	}
	if counts := o.used(key, thisMonth()); counts.Used != charged || counts.Refunded != refunded {
		t.Errorf("%+v; want %d used, %d refunded", counts, charged, refunded)
	}
}

// TestNothingOfTheClientReachesTheBackend but its arguments, with its identity beside them.
func TestNothingOfTheClientReachesTheBackend(t *testing.T) {
	o := startOwnAPI(t, func(s *backend.Settings) { s.Signing = &backend.Place{Env: "key"} })
	secret, key := o.newKey("demo")
	a := o.call("POST", "/bin/anything/a%20b?tags=x&trace=t1", secret.Reveal(), `{"note":"n"}`,
		"Authorization", "Bearer "+secret.Reveal(), "Cookie", "c=1", "X-Sekisho-User", "forged", "X-Sekisho-Signature", "v1=00",
		"X-Sekisho-Backend", "forged", "X-Forwarded-For", "6.6.6.6", "X-Other", "other")
	seen := o.saw()
	if a.status != 200 || len(seen) != 1 {
		t.Fatalf("%d %s after %d requests", a.status, a.body, len(seen))
	}
	h := seen[0].Header
	if h.Get("Authorization") != "Bearer "+upstreamToken || h.Get("X-Trace") != "t1" || seen[0].RequestURI != "/anything/a%20b?tags=x" {
		t.Errorf("%s %v", seen[0].RequestURI, h)
	}
	if h.Get(backend.UserHeader) != key.UserID || h.Get(backend.KeyHeader) != key.ID || h.Get(backend.PlanHeader) != "demo" ||
		!strings.HasPrefix(h.Get(backend.AdmissionHeader), usage.AdmissionIDPrefix) {
		t.Errorf("identity %v", h)
	}
	if text := fmt.Sprint(h); strings.Contains(text, "forged") || strings.Contains(text, secret.Reveal()) || strings.Contains(text, "other") || h.Get("Cookie") != "" {
		t.Errorf("it has what is the client's: %s", text)
	}
	if text := string(a.body) + fmt.Sprint(a.header); strings.Contains(text, upstreamToken) || strings.Contains(text, strings.TrimPrefix(h.Get(backend.SignatureHeader), "v1=")) {
		t.Errorf("the client gets what is secret: %s", text)
	}
}

// TestARedirectKeepsTheCredentialAtHome: another origin gets no request at all.
func TestARedirectKeepsTheCredentialAtHome(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("it was asked, with %v", r.Header)
	}))
	defer elsewhere.Close()
	o := startOwnAPI(t, func(s *backend.Settings) { s.Signing = &backend.Place{Env: "key"} })
	secret, _ := o.newKey("demo")
	a := o.call("GET", "/bin/redirect?url="+elsewhere.URL, secret.Reveal(), "")
	if body := a.json(t); a.status != 502 || body["error"] != "upstream_misconfigured" || body["retryable"] != false {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestAnAnswerThatBreaksItsDescription reaches the client: the list asserts nothing of it.
func TestAnAnswerThatBreaksItsDescription(t *testing.T) {
	o := startOwnAPI(t, nil)
	secret, _ := o.newKey("demo")
	a := o.call("POST", "/mcp", secret.Reveal(), `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2025-11-25")
	if want := `"outputSchema":{"anyOf":[{"properties":{"url":{"description":"The address."}},"type":"object"}`; !strings.Contains(string(a.body), want) {
		t.Errorf("%s\nwant %s", a.body, want)
	}
	if r, _ := o.tool(secret.Reveal(), "bin_anything", `{"path":"x","note":"n"}`); r.IsError || r.StructuredContent["method"] != "POST" {
		t.Errorf("%+v", r)
	}
}

// TestAWriteWithoutAnOutcomeIsNotRepeated, and says so.
func TestAWriteWithoutAnOutcomeIsNotRepeated(t *testing.T) {
	o := startOwnAPI(t, nil)
	secret, _ := o.newKey("demo")
	r, text := o.tool(secret.Reveal(), "bin_write_status", `{"code":"504"}`)
	if n := len(o.saw()); !r.IsError || text["error"] != "upstream_outcome_unclear" || text["retryable"] != false || n != 1 {
		t.Errorf("%+v after %d requests", text, n)
	}
}

// TestTheRateHolds for all callers of a backend together.
func TestTheRateHolds(t *testing.T) {
	rate := 0.001
	o := startOwnAPI(t, func(s *backend.Settings) { s.RatePerSecond, s.Burst = &rate, 3 })
	secret, key := o.newKey("demo")
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { o.call("GET", "/bin/status/200", secret.Reveal(), "") })
	}
	wg.Wait()
	if counts := o.used(key, thisMonth()); len(o.saw()) != 3 || counts.Used != 3 || counts.Refunded != 7 {
		t.Errorf("%+v; want 3 used, 7 refunded", counts)
	}
}

// TestABackendThatIsNotConfigured answers so, free of charge.
func TestABackendThatIsNotConfigured(t *testing.T) {
	o := startOwnAPI(t, func(s *backend.Settings) { *s = backend.Settings{Name: "bin"} })
	secret, key := o.newKey("demo")
	if a := o.call("GET", "/bin/status/200", secret.Reveal(), ""); a.status != 501 || a.json(t)["error"] != "upstream_not_configured" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if counts := o.used(key, thisMonth()); counts.Used != 0 || counts.Refunded != 1 {
		t.Errorf("%+v", counts)
	}
}
