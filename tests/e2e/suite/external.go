package suite

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// testExternal calls the laptop's upstream, whose resources fail as their names say.
func testExternal(t *testing.T, g Target) {
	if !g.Upstream {
		testNoUpstream(t, g)
		return
	}
	k := g.newKey(t)
	if a := g.get(t, "/v1/external/stats/demo", k.Secret); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "/stats/demo") {
		t.Errorf("fetch_stats: %s", a)
	}
	if a := g.publish(t, k, "hello-again"); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "/publications") {
		t.Errorf("publish_content: %s", a)
	}
	for _, c := range []struct {
		name, code, class string
		status            int
		retryAfterMs      int64 // 0 = null
		hint              string
	}{
		{"status-401", "upstream_auth", "permanent", 502, 0, "don't change your API key"},
		{"status-503-retry-after-60", "upstream_unavailable", "transient", 503, 60000, "Don't retry before 60000 ms"},
		{"status-529-retry-after-60", "upstream_unavailable", "transient", 503, 60000, "overloaded"},
		{"status-500", "upstream_failed", "unknown", 502, 0, "already tried 2 times. Don't retry"},
	} {
		fetched := g.get(t, "/v1/external/stats/"+c.name, k.Secret)
		answers := map[string]answer{"fetch_stats": fetched}
		if c.name != "status-500" { // the outcome of such a publication would be unclear
			answers["publish_content"] = g.publish(t, k, c.name)
		}
		for tool, a := range answers {
			p := a.problem(t)
			if a.Status != c.status || p.Error != c.code || p.Classification != c.class || !strings.Contains(p.Hint, c.hint) {
				t.Errorf("%s of %s: %s; want %d, %+v", tool, c.name, a, c.status, c)
			}
			checkWait(t, a, p, c.retryAfterMs)
		}
		r := g.callTool(t, k.Secret, "external.fetch_stats", fmt.Sprintf(`{"resource_id":%q}`, c.name)).tool(t)
		if p := r.problem(t); p.Error != c.code || !strings.Contains(p.Hint, c.hint) {
			t.Errorf("over MCP, %s: %+v", c.name, p)
		}
	}
	for name, status := range map[string]int{"status-404": 404, "status-422": 422, "status-429-retry-after-60": 429} {
		if a := g.get(t, "/v1/external/stats/"+name, k.Secret); a.Status != status || a.Header.Get("x-sekisho-backend") != "external" {
			t.Errorf("%s is the upstream's own answer: %s", name, a)
		}
		r := g.callTool(t, k.Secret, "external.fetch_stats", fmt.Sprintf(`{"resource_id":%q}`, name)).tool(t)
		if p := r.problem(t); p.Error != "backend_refused" || p.Retryable != (status == 429) {
			t.Errorf("over MCP, %s: %+v", name, p)
		}
	}
	a := g.publish(t, k, "status-500")
	if p := a.problem(t); a.Status != 502 || p.Error != "upstream_outcome_unclear" || p.Retryable {
		t.Errorf("a publication that may have happened: %s", a)
	}
	g.settles(t, k, 2)
}

// checkWait compares the wait in the body with the one in the header.
func checkWait(t testing.TB, a answer, p problem, wantMs int64) {
	t.Helper()
	header := a.Header.Get("Retry-After")
	if wantMs == 0 {
		if p.RetryAfterMs != nil || header != "" {
			t.Errorf("a wait where none helps: Retry-After %q in %s", header, a)
		}
		return
	}
	if p.RetryAfterMs == nil || *p.RetryAfterMs != wantMs || header != strconv.FormatInt(wantMs/1000, 10) {
		t.Errorf("Retry-After %q in %s; want %d ms", header, a, wantMs)
	}
}

func testNoUpstream(t *testing.T, g Target) {
	k := g.newKey(t)
	for _, a := range []answer{g.get(t, "/v1/external/stats/demo", k.Secret), g.publish(t, k, "hello-again")} {
		if p := a.problem(t); a.Status != http.StatusNotImplemented || p.Error != "upstream_not_configured" || p.Retryable {
			t.Errorf("without an upstream: %s", a)
		}
	}
	g.settles(t, k, 0)
}

func (g Target) publish(t testing.TB, k key, slug string) answer {
	t.Helper()
	return send(t, http.MethodPost, g.APIURL+"/v1/external/publications", k.Secret, fmt.Sprintf(`{"slug":%q}`, slug))
}
