package laptop_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"sekisho/functions/internal/laptop"
)

// TestLocalIsForTheOwnersPrograms: whatever of /_local/ is asked for, and however the request
// came to the port.
func TestLocalIsForTheOwnersPrograms(t *testing.T) {
	s := startWithBrake(t, nil)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	message, _ := json.Marshal(map[string]string{"Message": alarm(t)})
	token := "Authorization: Bearer " + localToken
	for name, c := range map[string]struct {
		host   string
		lines  []string
		status string
	}{
		"the owner":             {"127.0.0.1:" + port, []string{token}, "200"},
		"by another name":       {"localhost:" + port, []string{token}, "200"},
		"by IPv6":               {"[::1]:" + port, []string{token}, "200"},
		"no token":              {"127.0.0.1:" + port, nil, "403"},
		"another token":         {"127.0.0.1:" + port, []string{token + "x"}, "403"},
		"half a token":          {"127.0.0.1:" + port, []string{token[:len(token)-1]}, "403"},
		"an empty token":        {"127.0.0.1:" + port, []string{"Authorization: Bearer "}, "403"},
		"a rebound name":        {"evil.example:" + port, []string{token}, "403"},
		"a name that ends well": {"evil.localhost:" + port, []string{token}, "403"},
		"another port":          {"127.0.0.1:1", []string{token}, "403"},
		"no port":               {"127.0.0.1", []string{token}, "403"},
		"a web page":            {"127.0.0.1:" + port, []string{token, "Origin: https://evil.example"}, "403"},
		"its own page":          {"127.0.0.1:" + port, []string{token, "Origin: http://127.0.0.1:" + port}, "403"},
		"an empty origin":       {"127.0.0.1:" + port, []string{token, "Origin: "}, "403"},
		"ngrok":                 {"127.0.0.1:" + port, []string{token, "X-Forwarded-For: 203.0.113.9"}, "403"},
		"a proxy":               {"127.0.0.1:" + port, []string{token, "Forwarded: for=203.0.113.9"}, "403"},
		"another proxy":         {"127.0.0.1:" + port, []string{token, "Via: 1.1 proxy"}, "403"},
		"an empty header":       {"127.0.0.1:" + port, []string{token, "X-Forwarded-Host:"}, "403"},
	} {
		for _, request := range []struct{ line, body string }{
			{"GET /_local/invocations", ""}, {"GET /_local/functions", ""}, {"GET /_local/stage", ""}, {"GET /_local/description", ""},
			{"GET /_local/brake", ""}, {"POST /_local/brake", `{"on":false}`}, {"GET /_local/topics/money", ""},
			{"POST /_local/topics/other", string(message)},
		} {
			if got := raw(t, s.base, request.line, c.host, c.lines, request.body); got != c.status {
				t.Errorf("%s, %s: %s, want %s", name, request.line, got, c.status)
			}
		}
		if c.status == "403" { // what would stop the service, too
			for line, body := range map[string]string{"POST /_local/brake": `{"on":true}`, "POST /_local/topics/money": string(message)} {
				if got := raw(t, s.base, line, c.host, c.lines, body); got != c.status {
					t.Errorf("%s, %s: %s, want %s", name, line, got, c.status)
				}
			}
		}
	}
	s.wantRunning()
}

// raw sends a request as it is written, and returns the status.
func raw(t *testing.T, base, line, host string, headers []string, body string) string {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	lines := append([]string{line + " HTTP/1.1", "Host: " + host, "Connection: close"}, headers...)
	if body != "" {
		lines = append(lines, "Content-Type: application/json")
	}
	lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)), "", body)
	io.WriteString(connection, strings.Join(lines, "\r\n"))
	answer, err := io.ReadAll(connection)
	if err != nil || len(answer) < 12 {
		t.Fatalf("%v: %q", err, answer)
	}
	return string(answer[9:12])
}

// TestLocalIsClosedWithoutAToken: a service that was given none has nothing there.
func TestLocalIsClosedWithoutAToken(t *testing.T) {
	s := startWithBrake(t, func(c *laptop.Config) { c.LocalToken = "" })
	for _, sent := range []string{"Bearer ", "Bearer", "Bearer " + localToken} {
		if a := s.call("GET", "/_local/stage", "", "", "Authorization", sent); a.status != http.StatusForbidden {
			t.Errorf("%q: %d %s", sent, a.status, a.body)
		}
	}
}

// TestBadLocalRequests: what to send instead, and nothing is done.
func TestBadLocalRequests(t *testing.T) {
	s := startWithBrake(t, nil)
	for name, c := range map[string]struct {
		method, path, body string
		status             int
	}{
		"not JSON":         {"POST", "topics/money", "stop", 400},
		"nothing in it":    {"POST", "topics/money", "{}", 400},
		"more than 256 KB": {"POST", "topics/money", `{"Message":"` + strings.Repeat("x", 256<<10) + `"}`, 400},
		"another method":   {"POST", "functions", "{}", 405},
		"another path":     {"GET", "other", "", 404},
		"no topic":         {"GET", "topics/", "", 404},
	} {
		if a := s.local(c.method, c.path, c.body); a.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.body, c.status)
		}
	}
	s.wantRunning()
}

// TestLocalFigures: what CloudWatch would show.
func TestLocalFigures(t *testing.T) {
	s := startWithBrake(t, nil)
	secret, _ := s.newKey("demo")
	s.call("GET", "/v1/postal/1000001", secret.Reveal(), "")
	s.call("GET", "/v1/convert/units?value=1&from=km&to=m", secret.Reveal(), "") // reserved at 0
	var invocations map[string]int
	if err := json.Unmarshal(s.local("GET", "invocations", "").body, &invocations); err != nil {
		t.Fatal(err)
	}
	if invocations["postal"] != 1 || invocations["authorizer"] != 2 || invocations["convert"] != 0 || len(invocations) != len(ceilings) {
		t.Errorf("invocations %v", invocations)
	}
	var functions map[string]struct {
		Throttles int     `json:"throttles"`
		Reserved  int     `json:"reserved_concurrency"`
		Timeout   float64 `json:"timeout_seconds"`
	}
	if err := json.Unmarshal(s.local("GET", "functions", "").body, &functions); err != nil {
		t.Fatal(err)
	}
	if f := functions["convert"]; f.Throttles != 1 || f.Reserved != 0 || f.Timeout == 0 || functions["postal"].Reserved != 7 {
		t.Errorf("functions %v", functions)
	}
}
