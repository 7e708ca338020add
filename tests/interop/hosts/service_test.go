//go:build interop

package hosts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sekisho/tests/program"
)

// The plans of the service under test. Of the last three, each is used up for one reason.
const (
	roomy   = "roomy"
	counted = "counted"
	monthly = "monthly"
	daily   = "daily"
	slow    = "slow"
)

// service is one `sekisho up`, with the proxy before it.
type service struct {
	dir string
	program.Ready
	keys  map[string]string // by plan
	proxy *proxy
	// mcp is the proxy's address of MCP.
	mcp string
}

func up(t *testing.T) *service {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(figures))
	t.Cleanup(upstream.Close)
	s := &service{dir: t.TempDir()}
	s.Ready = shared.binary.Up(t, nil, s.dir,
		"--plan", roomy+"=unlimited", "--plan", counted+"=1000", "--plan", monthly+"=1", "--plan", daily+"=1000,daily=1", "--plan", slow+"=1000,per_second=0.01,burst=1",
		"--backend", "external="+upstream.URL).Ready
	s.keys = s.Keys
	for _, plan := range []string{monthly, daily, slow} {
		s.useUp(t, s.keys[plan])
	}
	at, err := url.Parse(s.MCPURL)
	if err != nil {
		t.Fatal(err)
	}
	s.proxy = &proxy{to: at.Scheme + "://" + at.Host, host: s.keys[roomy]}
	s.proxy.begin(fault{}, "")
	front := httptest.NewServer(s.proxy)
	t.Cleanup(front.Close)
	s.mcp = front.URL + at.Path
	return s
}

// run runs a command of sekisho on the service's data.
func (s *service) run(t *testing.T, args ...string) string {
	t.Helper()
	return shared.binary.On(nil, "--data", s.dir)(t, args...)
}

// printed is the configuration that the page and the start show for a client, with the proxy's address
// and the key filled in.
func (s *service) printed(t *testing.T, id string) client {
	t.Helper()
	for _, c := range s.clients(t) {
		if c.ID == id {
			c.Text = strings.NewReplacer("{mcp}", s.mcp, "{api}", s.APIURL, "{key}", s.keys[roomy]).Replace(c.Text)
			return c
		}
	}
	t.Fatalf("no configuration is printed for %s", id)
	return client{}
}

var files = regexp.MustCompile(`page/[0-9a-f]+/`)

// clients are all in the printed configuration, as the page has them.
func (s *service) clients(t *testing.T) []client {
	t.Helper()
	page := s.request(t, http.MethodGet, s.APIURL+"/", "", "")
	var all []client
	if err := json.Unmarshal(s.request(t, http.MethodGet, s.APIURL+"/"+string(files.Find(page))+"clients.json", "", ""), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// keyID is the id of the key on a plan.
func (s *service) keyID(t *testing.T, plan string) string {
	t.Helper()
	var keys []struct {
		ID string `json:"key_id"`
	}
	if err := json.Unmarshal([]byte(s.run(t, "keys", "list", "--user", plan, "--json")), &keys); err != nil || len(keys) != 1 {
		t.Fatalf("%v: %v", err, keys)
	}
	return keys[0].ID
}

// useUp makes a call, which takes the unit that the key has.
func (s *service) useUp(t *testing.T, key string) {
	t.Helper()
	s.request(t, http.MethodGet, s.APIURL+"/v1/postal/"+place, key, "")
}

// switchOff switches exactly these tools off.
func (s *service) switchOff(t *testing.T, key string, tools ...string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"disabled_categories": []string{}, "disabled_tools": append([]string{}, tools...)})
	if err != nil {
		t.Fatal(err)
	}
	s.request(t, http.MethodPut, s.APIURL+"/v1/user/tool-settings", key, string(body))
}

// listed are the tools as the service lists them, by name.
func (s *service) listed(t *testing.T) map[string]listedTool {
	t.Helper()
	body := s.request(t, http.MethodPost, s.MCPURL, s.keys[counted], `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var answer struct {
		Result struct{ Tools []listedTool }
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Result.Tools) == 0 {
		t.Fatalf("%v in %s", err, body)
	}
	byName := map[string]listedTool{}
	for _, tool := range answer.Result.Tools {
		byName[tool.Name] = tool
	}
	return byName
}

// listedTool is what the service says of a tool.
type listedTool struct {
	Name, Title, Description string
	InputSchema              json.RawMessage
}

func (s *service) request(t *testing.T, method, to, key, body string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %v, status %d: %s", method, to, err, response.StatusCode, answer)
	}
	return answer
}

// What the upstream does, by the resource's name.
const (
	busy     = "busy"
	large    = "large"     // about as much as passes
	tooLarge = "too-large" // 1 MB
)

// theEnd is what a long answer ends with.
const theEnd = "the end of it"

// figures is the upstream behind external_fetch_stats.
func figures(w http.ResponseWriter, r *http.Request) {
	switch name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]; name {
	case busy:
		w.Header().Set("Retry-After", "60")
		http.Error(w, "busy", http.StatusServiceUnavailable)
	case large, tooLarge:
		size := 120_000
		if name == tooLarge {
			size = 1 << 20
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"rows":%q,"last":%q}`, strings.Repeat("0123456789 abcd ", size/16), theEnd)
	default:
		http.NotFound(w, r)
	}
}
