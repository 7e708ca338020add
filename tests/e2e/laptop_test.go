package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sekisho/tests/e2e/suite"
	"sekisho/tests/program"
)

// binary is the program under test, built once.
var binary program.Program

func TestMain(m *testing.M) { program.Main(m, &binary) }

// TestLaptop runs the suite against `sekisho up` over its own database, however it dispatches and
// whatever /mcp is reached by.
func TestLaptop(t *testing.T) {
	for _, served := range []struct {
		dispatch, door string
		repeats        int // what /mcp is reached by has no part in the counting
	}{
		{"proxy", "rest", 10}, {"proxy", "http", 1}, {"direct", "http", 10}, {"direct", "url", 1},
	} {
		t.Run(served.dispatch+"_"+served.door, func(t *testing.T) {
			t.Parallel()
			testLaptop(t, served.repeats, "--dispatch", served.dispatch, "--door", served.door, "--door-listen", "127.0.0.1:0")
		})
	}
}

func testLaptop(t *testing.T, repeats int, flags ...string) {
	dir := t.TempDir()
	r := binary.Up(t, nil, dir, append(flags, "--plan", fmt.Sprintf("%s=%d", suite.Plan, suite.Limit),
		"--per-day", "external.publish_content=1000", "--backend-rate", "1000", "--backend-burst", "1000", "--timeout", "authorizer=28s")...)
	if r.Keys[suite.Plan] == "" || len(r.Keys) != 1 {
		t.Errorf("keys %v; want one of plan %s", r.Keys, suite.Plan)
	}
	suite.Run(t, suite.Target{
		MCPURL: r.MCPURL, APIURL: r.APIURL, LocalToken: r.LocalToken, Upstream: true, Repeats: repeats, Settled: 10 * time.Second,
		Sekisho: binary.On(nil, "--data", dir),
	})
}

// TestVersion: the command line and the server report the version that was built in.
func TestVersion(t *testing.T) {
	if out, code := binary.Run(t, nil, "--version"); code != 0 || strings.TrimSpace(out) != program.Version {
		t.Errorf("sekisho --version: exit code %d, %q; want %s", code, out, program.Version)
	}
	r := binary.Up(t, nil, t.TempDir(), "--plan", "demo=1")
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`
	request, err := http.NewRequestWithContext(t.Context(), "POST", r.MCPURL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("x-api-key", r.Keys["demo"])
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Result struct {
			ServerInfo struct{ Name, Version string } `json:"serverInfo"`
		} `json:"result"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if got := answer.Result.ServerInfo; got.Name != "sekisho" || got.Version != program.Version {
		t.Errorf("serverInfo %+v; want sekisho %s", got, program.Version)
	}
}
