package worstcase

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
)

// api has four keyed methods, one of a function that the brake stops, and seven of ANY.
func api(t *testing.T) *contract.API {
	t.Helper()
	a, err := contract.Parse([]byte(`{"security": [{"key": []}], "x-sekisho-limits": {"answer_bytes": 50000}, "paths": {
		"/a": {"get": {"operationId": "a", "x-sekisho": {"function": "calendar"}}},
		"/usage": {"get": {"operationId": "u", "x-sekisho": {"function": "account"}}},
		"/mcp": {"x-amazon-apigateway-any-method": {"operationId": "m", "security": [], "x-sekisho": {"function": "mcp"}}},
		"/register": {"post": {"operationId": "r", "security": [], "x-sekisho": {"braked": true}}},
		"/health": {"get": {"operationId": "h", "security": []}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func ceilings() Ceilings {
	return Ceilings{
		Prices: map[string]float64{
			"apigateway_rest_request": 0.0000035, "lambda_request": 0.0000002, "lambda_arm64_gb_second": 0.0000133334,
			"dynamodb_write_unit": 0.000000625, "dynamodb_read_unit": 0.000000125, "logs_ingested_gb": 0.5, "data_out_gb": 0.09,
		},
		Throttle: Throttle{RatePerSecond: 10, Burst: 20}, Unreserved: 100, Braked: []string{"calendar", "mcp"},
		Functions: map[string]Function{
			"authorizer": {"authorizer", 256, 5, "arm64", -1}, "account": {"api", 256, 10, "arm64", -1},
			"calendar": {"api", 256, 5, "arm64", 3}, "mcp": {"proxy", 512, 28, "arm64", -1},
			"settle": {"log", 128, 30, "arm64", 0}, "brake": {"messages", 128, 60, "arm64", -1},
		},
		Tables: map[string]Units{"usage": {}},
		Trip:   Trip{USDPerHour: 0.14, DelaySeconds: 420, How: "seven minutes"},
	}
}

// TestOf: the parts whose figures can be checked by head. 36,020 calls an hour for each method.
func TestOf(t *testing.T) {
	r, err := Of(ceilings(), api(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hour Hour
		part string
		want float64
		says string
	}{
		{r.Open, "gateway", 11 * 36020 * 0.0000035, "11 methods × (10 per second × 3600 s + 20 at once) = 396220 requests × 0.0000035"}, // ANY is seven
		{r.Open, "function mcp", 100*3600*0.5*0.0000133334 + 7*36020*0.0000002, "100 places left in the account × 3600 s"},
		{r.Open, "function authorizer", 2 * 36020 * 0.0000002, "0 places left in the account"},
		{r.Open, "function calendar", 3*3600*0.25*0.0000133334 + 36020*0.0000002, "3 places reserved × 3600 s"},
		{r.Open, "function settle", 3 * 2 * 36020 * 0.0000002, "0 places reserved"},
		{r.Open, "function brake", 3600 * 0.125 * 0.0000133334, "messages come one by one"},
		{r.Open, "refused requests", (36_005_000 - 396_220) * (640*0.5 + 1536*0.09) / 1e9, "10000 per second in the account"},
		{r.Braked, "gateway", 2 * 36020 * 0.0000035, "2 methods"}, // usage and health
		{r.Braked, "function mcp", 0, "0 starts"},
		{r.Braked, "function account", 100*3600*0.25*0.0000133334 + 36020*0.0000002, "100 places left"},
		{r.Braked, "refused requests", (36_005_000 - 72_040) * (640*0.5 + 1536*0.09) / 1e9, "35932960"},
	} {
		found := false
		for _, p := range c.hour.Parts {
			if p.Name != c.part {
				continue
			}
			found = true
			if math.Abs(p.USD-c.want) > 1e-9 || !strings.Contains(p.How, c.says) {
				t.Errorf("%s is %v USD, %s; want %v and %q", c.part, p.USD, p.How, c.want, c.says)
			}
		}
		if !found {
			t.Errorf("there is no part %s", c.part)
		}
	}
	for _, h := range []Hour{r.Open, r.Braked} {
		sum := 0.0
		for _, p := range h.Parts {
			if p.USD < 0 {
				t.Errorf("%s is negative: %v", p.Name, p.USD)
			}
			sum += p.USD
		}
		if math.Abs(sum-h.USD) > 1e-9 {
			t.Errorf("the parts come to %v, the hour to %v", sum, h.USD)
		}
	}
	if usd, ok := r.BeforeBrake(); !ok || math.Abs(usd-r.Open.USD*420/3600) > 1e-9 {
		t.Errorf("before the brake: %v, %t", usd, ok)
	}
}

// TestDoors: what a door lets through starts mcp, and what mcp invokes by itself starts the others.
// The REST API keeps three methods: calendar, usage and health, and register.
func TestDoors(t *testing.T) {
	http := Door{Kind: "http", Routes: []string{"ANY /mcp", "ANY /mcp/"}, Throttle: Throttle{RatePerSecond: 10, Burst: 20}}
	url := Door{Kind: "url"}
	for _, c := range []struct {
		name     string
		door     Door
		dispatch string
		reserved float64 // of mcp
		part     string
		braked   bool
		says     string
	}{
		{"http", http, "proxy", -1, "gateway", false, "4 methods"},
		{"http", http, "proxy", -1, "HTTP API", false, "2 routes × (10 per second × 3600 s + 20 at once) = 72040 requests × 0.000001 + 0 refused"},
		{"http", http, "proxy", -1, "HTTP API", true, "= 72040 requests × 0.000001 + 72040 refused × 1536 bytes"},
		{"http", http, "proxy", -1, "function mcp", false, "+ 72040 starts"},
		{"http", http, "proxy", -1, "function mcp", true, "0 starts"},
		{"http", http, "proxy", -1, "function calendar", false, "+ 36020 starts"},
		{"http", http, "proxy", -1, "refused requests", false, "less those above = 35788880 "}, // 36,005,000 - 4 × 36,020 - 72,040
		{"http", http, "direct", -1, "function calendar", false, "+ 108060 starts"},
		{"http", http, "direct", -1, "function settle", false, "+ 432240 starts"}, // 3 × (2 × 36,020 + 72,040)
		{"url", url, "direct", 5, "function URL", false, "10 × 5 places × 3600 s = 180000 requests × 0 + 0 refused"},
		{"url", url, "direct", 5, "function mcp", false, "5 places reserved × 3600 s"},
		{"url", url, "direct", 5, "function account", false, "(36020 starts × 10 s + 18000 s of mcp)"}, // which runs 5 × 3600 s
		{"url", url, "direct", 5, "function calendar", true, "0 starts"},                               // the brake stops it
		{"url", url, "direct", 5, "function account", true, "+ 216020 starts"},
		{"url", url, "direct", 5, "refused requests", false, "less those above = 35860920 "}, // nothing of the URL's
	} {
		given := ceilings()
		given.Prices["apigateway_http_request"] = 0.000001
		given.Door, given.Dispatch, given.Unreserved = c.door, c.dispatch, 10_000
		mcp := given.Functions["mcp"]
		mcp.Reserved = c.reserved
		given.Functions["mcp"] = mcp
		if c.dispatch == "direct" {
			given.Braked = []string{"calendar"}
		}
		r, err := Of(given, api(t))
		if err != nil {
			t.Fatal(err)
		}
		hour := r.Open
		if c.braked {
			hour = r.Braked
		}
		i := slices.IndexFunc(hour.Parts, func(p Part) bool { return p.Name == c.part })
		if i < 0 || !strings.Contains(hour.Parts[i].How, c.says) {
			t.Errorf("%s, %s, braked %t: %s of %+v, want %q", c.name, c.dispatch, c.braked, c.part, hour.Parts, c.says)
		}
	}
	given := ceilings()
	given.Door = Door{Kind: "http", Routes: http.Routes, Throttle: Throttle{-1, -1}}
	if _, err := Of(given, api(t)); !errors.Is(err, ErrUnbounded) {
		t.Errorf("a door without a throttle: %v", err)
	}
	given.Door = http
	if _, err := Of(given, api(t)); err == nil || !strings.Contains(err.Error(), "apigateway_http_request") {
		t.Errorf("a door without a price: %v", err)
	}
}

// TestOAuthDoor: routes to mcp start it as those of another door do, and the others the function oauth,
// which the brake stops; whoever is turned away is billed for the request.
func TestOAuthDoor(t *testing.T) {
	given := ceilings()
	given.Prices["apigateway_http_request"] = 0.000001
	given.Dispatch, given.Unreserved, given.Braked = "direct", 10_000, []string{"calendar", "oauth"}
	given.Functions["oauth"] = Function{"oauth", 256, 10, "arm64", -1}
	given.OAuthRoutes = map[string]OAuthRoute{
		"ANY /mcp":   {"mcp", Throttle{RatePerSecond: 10, Burst: 20}},
		"ANY /token": {"oauth", Throttle{RatePerSecond: 5, Burst: 10}},
	}
	r, err := Of(given, api(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hour Hour
		part string
		says string
	}{
		{r.Open, "OAuth door", "2 routes, each by its throttle: 54030 requests × 0.000001 + 0 refused"},
		{r.Braked, "OAuth door", "54030 requests × 0.000001 + 18010 refused × 1536 bytes"},
		{r.Open, "function oauth", "18010 starts × 10 s"},
		{r.Braked, "function oauth", "0 starts"},
		{r.Open, "function mcp", "+ 288160 starts"},   // (7 methods + 1 route) × 36,020
		{r.Braked, "function mcp", "+ 288160 starts"}, // says for itself that the brake is on
		{r.Open, "logs", "450250 requests"},           // (11 methods + 1 route) × 36,020 + 18,010
		{r.Open, "refused requests", "less those above = 35554750 "},
	} {
		i := slices.IndexFunc(c.hour.Parts, func(p Part) bool { return p.Name == c.part })
		if i < 0 || !strings.Contains(c.hour.Parts[i].How, c.says) {
			t.Errorf("%s of %+v, want %q", c.part, c.hour.Parts, c.says)
		}
	}
	given.OAuthRoutes["ANY /token"] = OAuthRoute{"oauth", Throttle{-1, -1}}
	if _, err := Of(given, api(t)); !errors.Is(err, ErrUnbounded) {
		t.Errorf("a route without a throttle: %v", err)
	}
}

func TestTablesThatGrantLess(t *testing.T) {
	five := 5.0
	for _, c := range []struct {
		tables map[string]Units
		says   string
	}{
		{map[string]Units{"usage": {Write: &five}, "accounts": {Write: &five}}, "(5 + 5) units per second × 3600 s"},
		{map[string]Units{"usage": {Write: &five}, "accounts": {}}, "396220 requests × 8 units"},
	} {
		given := ceilings()
		given.Tables = c.tables
		r, err := Of(given, api(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Open.Parts {
			if p.Name == "DynamoDB writes" && !strings.HasPrefix(p.How, c.says) {
				t.Errorf("%s, want %s", p.How, c.says)
			}
		}
	}
}

func TestNoFigure(t *testing.T) {
	c := ceilings()
	c.Throttle = Throttle{-1, -1}
	if _, err := Of(c, api(t)); !errors.Is(err, ErrUnbounded) {
		t.Errorf("without a throttle: %v", err)
	}
	c = ceilings()
	delete(c.Prices, "data_out_gb")
	if _, err := Of(c, api(t)); err == nil || !strings.Contains(err.Error(), "data_out_gb") {
		t.Errorf("without a price: %v", err)
	}
	c = ceilings()
	c.Trip.USDPerHour = 1000
	r, err := Of(c, api(t))
	if _, ok := r.BeforeBrake(); ok || err != nil {
		t.Errorf("an alarm above the worst hour trips: %v", err)
	}
	var b strings.Builder
	if err := r.Markdown(&b); err != nil || !strings.Contains(b.String(), "The brake never comes: the alarm waits for 1000 USD an hour.") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestRead: the ceilings are found in all that Terraform prints.
func TestRead(t *testing.T) {
	const outputs = `{"ceilings": {"sensitive": false, "value": {"unreserved_concurrency": 7}}}`
	for name, printed := range map[string]string{
		"a plan": `{"planned_values": {"outputs": ` + outputs + `}}`, "a state": `{"values": {"outputs": ` + outputs + `}}`, "outputs": outputs,
	} {
		if c, err := Read([]byte(printed)); err != nil || c.Unreserved != 7 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for name, printed := range map[string]string{"no JSON": "Plan: 3 to add", "no ceilings": `{"values": {"outputs": {}}}`, "a list": `[]`} {
		if _, err := Read([]byte(printed)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
