package contract

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFunction: an entry says what differs, and a function without one has the default.
func TestFunction(t *testing.T) {
	api, err := Parse([]byte(`{"paths":{"/a":{"get":{"operationId":"a","x-sekisho":{"function":"slow"}}}},"x-sekisho-functions":{
		"default":{"memory_mb":256,"timeout_seconds":5,"braked":true},
		"slow":{"timeout_seconds":28,"spared_in":"direct"},
		"door":{"memory_mb":128,"braked":false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Function{
		"slow":  {256, 28 * time.Second, true, "direct", ""},
		"door":  {128, 5 * time.Second, false, "", ""},
		"other": {256, 5 * time.Second, true, "", ""},
	} {
		if got := api.Function(name); got != want {
			t.Errorf("%s runs with %+v, want %+v", name, got, want)
		}
	}
	if slow := api.Function("slow"); !slow.BrakedIn("proxy") || slow.BrakedIn("direct") || api.Function("door").BrakedIn("proxy") {
		t.Errorf("spared in direct only: %+v", slow)
	}
	if never := strings.Join(api.NeverBraked(), " "); never != "door" {
		t.Errorf("never braked: %s", never)
	}
}

func TestTableOfFunctionsRefuses(t *testing.T) {
	const fallback = `"default":{"memory_mb":256,"timeout_seconds":5,"braked":true}`
	for name, c := range map[string]struct{ table, message string }{
		"no default":         {`"a":{}`, "default: is missing"},
		"half a default":     {`"default":{"memory_mb":256,"braked":true}`, "must say memory_mb, timeout_seconds and braked"},
		"a misspelt member":  {fallback + `,"a":{"timeout":28}`, `unknown field "timeout"`},
		"a misspelt name":    {fallback + `,"aa":{"timeout_seconds":28}`, "aa serves no operation"},
		"too little memory":  {fallback + `,"a":{"memory_mb":64}`, "128 to 10240, not 64"},
		"too long a timeout": {fallback + `,"a":{"timeout_seconds":901}`, "1 to 900, not 901"},
	} {
		_, err := Parse([]byte(`{"paths":{"/a":{"get":{"operationId":"a","x-sekisho":{"function":"a"}}}},"x-sekisho-functions":{` + c.table + `}}`))
		if err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOAuthRoutes: the functions of the OAuth door are deployed, the brake may stop them, and they end
// before an HTTP API gives up, after 30 s.
func TestOAuthRoutes(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if len(api.OAuthRoutes) == 0 {
		t.Fatal("the OAuth door has no routes")
	}
	for _, route := range api.OAuthRoutes {
		if !slices.Contains(api.AllFunctions(), route.Function) || api.Function(route.Function).Timeout >= 30*time.Second {
			t.Errorf("%s: %s is not deployed, or runs for too long", route.Route, route.Function)
		}
		if isMCP := route.Function == api.Operation("system.mcp").Function; isMCP != (route.RatePerSecond == 0) || isMCP && route.Own {
			t.Errorf("%+v: what strangers may call has a throttle of its own, and mcp that of the API, whoever the issuer is", route)
		}
	}
	for entry, want := range map[string]string{
		`{"function":"a","rate_per_second":5}`:                "rate_per_second and burst",
		`{"function":"a","rate_per_second":-1,"burst":1}`:     "rate_per_second and burst",
		`{"rate_per_second":5,"burst":1}`:                     "takes a function",
		`{"function":"a","own":true,"rate":5}`:                `unknown field "rate"`,
		`{"function":"gone","rate_per_second":5,"burst":1}`:   "oauth serves",
		`{"function":"oauth","rate_per_second":5,"burst":1} `: "",
		`{"function":"oauth","own":true}`:                     "",
	} {
		_, err := Parse([]byte(`{"paths":{},"x-sekisho-oauth-routes":{"ANY /token":` + entry + `},"x-sekisho-functions":{
			"default":{"memory_mb":256,"timeout_seconds":5,"braked":true},"oauth":{}}}`))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}

// TestTimeouts: what the API waits for ends before API Gateway gives up, after 29 s, so that
// its caller gets the function's own answer; and the MCP server outlasts what it calls.
func TestTimeouts(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	mcp := api.Operation("system.mcp").Function
	for _, name := range api.Functions() {
		timeout := api.Function(name).Timeout
		if timeout >= 29*time.Second {
			t.Errorf("%s may run for %s, and the gateway waits for 29 s", name, timeout)
		}
		if name != mcp && timeout >= api.Function(mcp).Timeout {
			t.Errorf("%s may run for %s, as long as %s, which calls it", name, timeout, mcp)
		}
	}
}

// TestUsageIsNeverBraked: while the brake is on, key holders still see their usage.
func TestUsageIsNeverBraked(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if function := api.Operation("utility.get_usage").Function; api.Function(function).Braked {
		t.Errorf("the brake stops %s, which shows usage", function)
	}
}
