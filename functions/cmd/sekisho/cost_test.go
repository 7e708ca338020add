package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestJoinPercent(t *testing.T) {
	for args, want := range map[string]string{
		"cost --failed 1 %":               "cost --failed 1%",
		"cost --failed=0.5 % --calls 9":   "cost --failed=0.5% --calls 9",
		"cost --denied 10 % --failed 1 %": "cost --denied 10% --failed 1%",
		"cost --name a % b":               "cost --name a % b",
		"% 1":                             "% 1",
	} {
		if got := strings.Join(joinPercent(strings.Fields(args)), " "); got != want {
			t.Errorf("%s becomes %s, want %s", args, got, want)
		}
	}
}

func TestCostOfNothing(t *testing.T) {
	if out, errs, code := sekisho(t, "cost", "--calls", "0"); code != exitOK || !strings.Contains(out, "0.000000   0.0 %") {
		t.Errorf("%d %s%s", code, out, errs)
	}
}

// TestBadMoneyArguments: one clear line that says what is accepted, and exit code 2.
func TestBadMoneyArguments(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "fresh")
	hearsay := filepath.Join(t.TempDir(), "prices.json")
	row := `{"prices":{"lambda_request":{"usd":1,"per":1,"unit":"requests","source":"a friend","date":"2026-11"}}}`
	if err := os.WriteFile(hearsay, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"bad bill":        {[]string{"usage", "export", "--bill", "-3", "--data", fresh}, "--bill"},
		"export, rest":    {[]string{"usage", "export", "--via", "rest", "--topology", "proxy", "--data", fresh}, "--topology is for calls by MCP"},
		"export, month":   {[]string{"usage", "export", "--month", "11/2026", "--data", fresh}, "YYYY-MM"},
		"export, no data": {[]string{"usage", "export", "--data", fresh}, "sekisho up"},
		"export, region":  {[]string{"usage", "export", "--region", "mars-north-1", "--data", fresh}, "us-east-1, ap-northeast-1, eu-west-1"},
		"cost of nothing": {[]string{"cost"}, "missing flags: --calls"},
		"cost of words":   {[]string{"cost", "--calls", "many"}, "--calls: must be a whole number"},
		"cost, fraction":  {[]string{"cost", "--calls", "10", "--failed", "0.01"}, "or a percentage such as"},
		"cost, region":    {[]string{"cost", "--calls", "10", "--region", "mars-north-1"}, "us-east-1, ap-northeast-1, eu-west-1; add others with --prices"},
		"cost, via":       {[]string{"cost", "--calls", "10", "--via", "smtp"}, `"mcp","rest"`},
		"cost, topology":  {[]string{"cost", "--calls", "10", "--topology", "direct"}, `"proxy","direct-http","direct-url"`},
		"cost, format":    {[]string{"cost", "--calls", "10", "--format", "pdf"}, `"text","json","csv","svg"`},
		"cost, no prices": {[]string{"cost", "--calls", "10", "--prices", fresh + ".json"}, "--prices"},
		"cost, a price":   {[]string{"cost", "--calls", "10", "--prices", hearsay}, "source must be the https URL"},
		"cost, duration":  {[]string{"cost", "--calls", "10", "--mcp-ms=-1"}, "0 to 900000 milliseconds"},
		"cost, memory":    {[]string{"cost", "--calls", "10", "--memory", "mcp"}, "FUNCTION=MB"},
		"cost, function":  {[]string{"cost", "--calls", "10", "--memory", "nobody=128"}, "authorizer, mcp, business, settle"},
	} {
		out, errs, code := sekisho(t, c.args...)
		if code != exitUsage || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%s: exit code %d, %q, %q; want %d, nothing and %q", name, code, out, errs, exitUsage, c.says)
		}
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a refused command made a directory")
	}
}
