package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/functions/internal/mcpserver"
)

// sekisho runs one command line in this process.
func sekisho(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, streams{&o, &e, os.Getenv})
	return o.String(), e.String(), code
}

func TestSizing(t *testing.T) {
	for _, c := range []struct {
		rps, seconds string
		want         float64
	}{{"5", "0.4", 5}, {"10", "0.4", 8}, {"0.1", "0.1", 1}, {"100", "1", 120}} {
		out, errs, code := sekisho(t, "sizing", "--json", "--rps", c.rps, "--seconds", c.seconds)
		var got map[string]float64
		if code != 0 || json.Unmarshal([]byte(out), &got) != nil || got["reserved_concurrency"] != c.want {
			t.Errorf("%s × %s: %s%s, want %g", c.rps, c.seconds, out, errs, c.want)
		}
	}
	if _, errs, code := sekisho(t, "sizing", "--rps", "0", "--seconds", "1"); code != exitUsage || !strings.Contains(errs, "above 0") {
		t.Errorf("no traffic: %d %s", code, errs)
	}
}

func TestProbeExitCodes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/401" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{}`))
	}))
	defer server.Close()
	for path, want := range map[string]int{"/": 0, "/401": 1} {
		if out, errs, code := sekisho(t, "probe", server.URL+path); code != want {
			t.Errorf("%s: exit code %d, want %d: %s%s", path, code, want, out, errs)
		}
	}
	if _, _, code := sekisho(t, "probe", "--attempts", "9", server.URL); code != exitUsage {
		t.Errorf("nine attempts: exit code %d, want %d", code, exitUsage)
	}
}

// TestBadSurroundings: one clear line, exit code 2, and nothing created.
func TestBadSurroundings(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(t.TempDir(), "fresh")
	foreign := filepath.Join(t.TempDir(), "foreign.json")
	if err := os.WriteFile(foreign, []byte(`{"values":{"outputs":{}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing applied":                      {[]string{"up", "--applied", filepath.Join(fresh, "applied.json")}, "terraform -chdir=envs/dev output -json"},
		"not applied":                          {[]string{"up", "--applied", foreign}, "terraform -chdir=envs/dev output -json"},
		"a plan applied":                       {[]string{"up", "--applied", foreign, "--plan", "demo=1"}, "--plan can't be combined with --applied"},
		"names besides what was applied":       {[]string{"up", "--applied", foreign, "--tool-names", "canonical"}, "--tool-names can't be combined with --applied"},
		"a list besides what was applied":      {[]string{"up", "--applied", foreign, "--listing", "search"}, "--listing can't be combined with --applied"},
		"no budget of a list":                  {[]string{"up", "--listing-budget", "0"}, "--listing search"},
		"no way to list":                       {[]string{"tools", "--listing", "some"}, "search"},
		"no form of a name":                    {[]string{"up", "--tool-names", "dotted"}, "underscore"},
		"an upstream besides what was applied": {[]string{"up", "--applied", foreign, "--per-day", "external.publish_content=2"}, "--backend and its options can't be combined with --applied"},
		"busy port":                            {[]string{"up", "--listen", busy.Addr().String(), "--data", fresh}, "--listen"},
		"bad address":                          {[]string{"up", "--listen", "nowhere", "--data", fresh}, "--listen"},
		"a file as data":                       {[]string{"up", "--listen", "127.0.0.1:0", "--data", filepath.Join(file, "x")}, "--data"},
		"bad plan":                             {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--plan", "demo"}, "NAME=MONTHLY"},
		"negative plan":                        {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--plan", "demo=-1"}, "monthly takes 0 to"},
		"bad ceiling":                          {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--reserved", "mcp=-2"}, "FUNCTION=N"},
		"bad timeout":                          {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--timeout", "mcp=1h"}, "15m"},
		"no function":                          {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--timeout", "mpc=1s"}, "there are: account"},
		"no such backend":                      {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "orders=https://example.com"}, "there is no backend \"orders\"; there are: external"},
		"no address":                           {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "example.com"}, "backend external: url: want"},
		"no lambda endpoint":                   {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "lambda:here"}, "lambda:http://127.0.0.1:9001/FUNCTION"},
		"a secret in a flag":                   {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend-auth", "Authorization: Bearer abc"}, "a flag is no place for a secret"},
		"no token file":                        {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "https://example.com", "--backend-auth", "Authorization: Bearer file:" + file + "x"}, "no such file"},
		"an empty token":                       {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "https://example.com", "--backend-auth", "Authorization: Bearer file:" + file}, "is empty"},
		"no such variable":                     {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "https://example.com", "--backend-auth", "query:key=env:SEKISHO_NO_SUCH"}, "SEKISHO_NO_SUCH is not set"},
		"a token for whom":                     {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend-auth", "Authorization: Bearer env:PATH"}, "needs --backend too"},
		"no such operation":                    {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--per-day", "external.delete=1"}, "no backend serves an operation"},
		"not a backend's":                      {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--per-day", "postal.lookup=1"}, "no backend serves an operation"},
		"no signing key":                       {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend-signing-key", "env:SEKISHO_NO_SUCH"}, "--backend-signing-key"},
		"a function's secret":                  {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend", "lambda:http://127.0.0.1:9001", "--backend-auth", "Authorization: Bearer env:PATH"}, "leave it out"},
		"no calls at all":                      {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--backend-rate", "1e9"}, "rate_per_second"},
		"signing in with the REST API's calls": {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth", "--dispatch", "proxy"}, "--oauth needs --dispatch direct"},
		"signing in by a stream":               {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth", "--door", "url"}, "--oauth goes with --door rest or http"},
		"signing in, but no door":              {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth-listen", "127.0.0.1:0"}, "give --oauth too"},
		"an issuer's every token":              {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth", "--oauth-issuer", "https://login.example"}, "go together"},
		"an issuer in the clear":               {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth", "--oauth-issuer", "http://login.example", "--oauth-audience", "a"}, "issuer"},
		"new users of nobody":                  {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth", "--oauth-new-user-plan", "free"}, "give that too"},
		"busy port to sign in at":              {[]string{"up", "--listen", "127.0.0.1:0", "--data", fresh, "--oauth", "--oauth-listen", busy.Addr().String()}, "--oauth-listen"},
		"signing in besides what was applied":  {[]string{"up", "--applied", foreign, "--oauth"}, "--oauth and its options can't be combined with --applied"},
		"somebody of no issuer":                {[]string{"keys", "create", "--user", "a", "--sub", "b", "--data", fresh}, "--issuer"},
		"nobody of an issuer":                  {[]string{"keys", "create", "--user", "a", "--issuer", "https://login.example", "--data", fresh}, "--sub"},
		"no data":                              {[]string{"keys", "list", "--data", fresh}, "sekisho up"},
		"one table":                            {[]string{"keys", "list", "--accounts-table", "a"}, "--usage-table"},
		"bad month":                            {[]string{"usage", "--month", "11/2026", "--data", fresh}, "YYYY-MM"},
		"unknown command":                      {[]string{"upp"}, "upp"},
	} {
		_, errs, code := sekisho(t, c.args...)
		if code != exitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", name, code, errs, exitUsage, c.says)
		}
	}
	if _, err := os.Stat(filepath.Join(fresh, databaseFile)); err == nil {
		t.Error("a refused start made a database")
	}
}

// TestTools: the parts add up, and what a key switches off is not among them.
func TestTools(t *testing.T) {
	read := func(args ...string) (report toolCosts) {
		out, errs, code := sekisho(t, append([]string{"tools", "--format", "json"}, args...)...)
		if code != 0 || json.Unmarshal([]byte(out), &report) != nil {
			t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
		}
		for _, parts := range [][]toolCost{report.Tools, report.Categories} {
			sum := toolCost{Name: "all"}
			for _, part := range parts {
				sum.add(part)
			}
			if sum != report.Total {
				t.Errorf("%v: the parts make %+v, the total is %+v", args, sum, report.Total)
			}
		}
		return report
	}
	all, less := read(), read("--off", "calendar", "--off", "convert.units")
	for _, tool := range less.Tools {
		if tool.Category == "calendar" || tool.Name == "convert_units" {
			t.Errorf("%s is off and counted", tool.Name)
		}
	}
	if less.Total.Tools >= all.Total.Tools || less.Total.Tokens >= all.Total.Tokens || less.Total.Tokens == 0 {
		t.Errorf("all %+v, less %+v", all.Total, less.Total)
	}
	for _, c := range []struct {
		args        []string
		has, hasNot string
	}{
		{nil, "  postal_lookup ", "postal.lookup"},
		{[]string{"--names", "canonical"}, "  postal.lookup ", "postal_lookup"},
	} {
		out, _, code := sekisho(t, append([]string{"tools"}, c.args...)...)
		if code != 0 || !strings.Contains(out, c.has) || strings.Contains(out, c.hasNot) {
			t.Errorf("%v: exit code %d: %s", c.args, code, out)
		}
	}
	if _, errs, code := sekisho(t, "tools", "--off", "calender"); code != exitUsage || !strings.Contains(errs, "calendar.holidays") {
		t.Errorf("a misspelt category: %d %s", code, errs)
	}
}

// TestToolsListing: which list a key gets, and why.
func TestToolsListing(t *testing.T) {
	for _, c := range []struct {
		args []string
		mode mcpserver.ListMode
		says string
	}{
		{nil, mcpserver.ListAll, "tools/list names all tools, since all 13 take "},
		{[]string{"--listing-budget", "1000"}, mcpserver.ListSearch, "tools/list names the 5 tools of search, since all 13 take "},
		{[]string{"--listing-budget", "1000", "--off", "calendar", "--off", "convert"}, mcpserver.ListAll, "within the budget of 1000."},
		{[]string{"--listing-budget", "1000", "--listing", "all"}, mcpserver.ListAll, "tools/list names all tools, as set"},
		{[]string{"--listing", "search"}, mcpserver.ListSearch, "tools/list names the 5 tools of search, as set"},
	} {
		out, errs, code := sekisho(t, append([]string{"tools"}, c.args...)...)
		if code != 0 || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit code %d: %s%s", c.args, code, out, errs)
		}
		var report toolCosts
		out, _, _ = sekisho(t, append([]string{"tools", "--format", "json"}, c.args...)...)
		if err := json.Unmarshal([]byte(out), &report); err != nil || report.Listing.Mode != c.mode || report.Search.Tools != 5 || report.Search.Tokens == 0 || report.Search.Tokens > 1000 {
			t.Errorf("%v: %v: %+v", c.args, err, report)
		}
	}
}

// TestUpSearches: a key of a laptop whose lists search finds a tool and calls it.
func TestUpSearches(t *testing.T) {
	up := startUp(t, "--data", t.TempDir(), "--plan", "demo=5", "--listing", "search")
	key := up.keys["demo"]
	if _, list := up.send("POST", "/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); strings.Contains(list, `"name":"postal_lookup"`) || !strings.Contains(list, `"name":"utility_find_tools"`) {
		t.Errorf("listed: %.300s", list)
	}
	up.tool(key, "utility_find_tools", `{"words":"address of a postal code"}`, "postal_lookup")
	up.tool(key, "utility_describe_tool", `{"name":"postal_lookup"}`, "postal_code")
	up.tool(key, "utility_call_tool", `{"name":"postal_lookup","arguments":"{\"postal_code\":\"100-0001\"}"}`, "千代田")
	up.tool(key, "utility_get_usage", `{}`, `\"monthly_used\":1`)
}

// TestUpNamesTools: up lists tools in the form that it is given, and takes both in calls.
func TestUpNamesTools(t *testing.T) {
	for form, c := range map[string]struct {
		flags []string
		name  string
	}{
		"default":   {nil, "postal_lookup"},
		"canonical": {[]string{"--tool-names", "canonical"}, "postal.lookup"},
	} {
		t.Run(form, func(t *testing.T) {
			up := startUp(t, append([]string{"--data", t.TempDir(), "--plan", "demo=5"}, c.flags...)...)
			if _, list := up.send("POST", "/mcp", up.keys["demo"], `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(list, `"name":"`+c.name+`"`) {
				t.Errorf("listed: %.300s", list)
			}
			for _, name := range []string{"postal.lookup", "postal_lookup"} {
				up.tool(up.keys["demo"], name, `{"postal_code":"100-0001"}`, "千代田")
			}
		})
	}
}
