package price

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
)

func load(t *testing.T) *Book {
	t.Helper()
	b, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEmbedded: each row that ships has a price, a unit, a source and a date, and regions
// override only prices that the base has, in the same unit.
func TestEmbedded(t *testing.T) {
	b := load(t)
	if b.Base != "us-east-1" || len(b.Prices) < len(keys) {
		t.Errorf("base %s with %d prices", b.Base, len(b.Prices))
	}
	for region, prices := range b.Regions {
		for key, p := range prices {
			base, ok := b.Prices[key]
			if !ok {
				t.Errorf("%s: %s is not a price of the base", region, key)
			}
			if p.Unit != base.Unit || p.Per != base.Per {
				t.Errorf("%s: %s is per %s %s, the base's per %s %s", region, key, p.Per, p.Unit, base.Per, base.Unit)
			}
		}
	}
	for _, region := range []string{"ap-northeast-1", "eu-west-1"} {
		if table, ok := b.Region(region); !ok || table.FellBack(GatewayRequest) {
			t.Errorf("%s has no price of the gateway", region)
		}
	}
}

func TestFiguresAreExact(t *testing.T) {
	table, _ := load(t).Region("us-east-1")
	if got, want := table.Of(LambdaGBSecond), big.NewRat(133334, 10_000_000_000); got.Cmp(want) != 0 {
		t.Errorf("a GB-second is %s, want %s", got, want)
	}
	if got, want := table.Of(WriteUnit), big.NewRat(625, 1_000_000_000); got.Cmp(want) != 0 {
		t.Errorf("a write unit is %s, want %s", got, want)
	}
}

func TestRegions(t *testing.T) {
	b := load(t)
	tokyo, ok := b.Region("ap-northeast-1")
	if !ok || tokyo.FellBack(WriteUnit) || tokyo.Of(WriteUnit).Cmp(big.NewRat(715, 1_000_000_000)) != 0 {
		t.Errorf("a write unit in Tokyo is %s (known %t, fell back %t)", tokyo.Of(WriteUnit), ok, tokyo.FellBack(WriteUnit))
	}
	if !tokyo.FellBack(AgentCoreCall) {
		t.Error("AgentCore has no price of Tokyo, and is not said to have fallen back")
	}
	if !tokyo.Untiered(GatewayRequest) || tokyo.Untiered(WriteUnit) || tokyo.Untiered(AgentCoreCall) {
		t.Error("of the prices of Tokyo, those whose tiers are missing are not told from the others")
	}
	if base, _ := b.Region(b.Base); base.Untiered(GatewayRequest) {
		t.Error("the base has its tiers")
	}
	if unknown, ok := b.Region("mars-north-1"); ok || !unknown.FellBack(WriteUnit) || unknown.Of(WriteUnit).Cmp(big.NewRat(625, 1_000_000_000)) != 0 {
		t.Error("an unknown region does not fall back to the base")
	}
	if base, ok := b.Region(b.Base); !ok || base.FellBack(WriteUnit) {
		t.Error("the base falls back to itself")
	}
}

func TestOverride(t *testing.T) {
	b := load(t)
	row := `{"usd": 9, "per": 1000, "unit": "requests", "source": "https://example.com/contract", "date": "2026-11"}`
	if err := b.Override([]byte(`{"prices": {"apigateway_rest_request": ` + row + `}, "regions": {"mars-north-1": {"lambda_request": ` + row + `}}}`)); err != nil {
		t.Fatal(err)
	}
	base, _ := b.Region("us-east-1")
	mars, ok := b.Region("mars-north-1")
	nine := big.NewRat(9, 1000)
	if base.Of(GatewayRequest).Cmp(nine) != 0 || !ok || mars.Of(LambdaRequest).Cmp(nine) != 0 || base.Of(LambdaRequest).Cmp(nine) == 0 {
		t.Errorf("gateway %s, Lambda on Mars %s, at home %s", base.Of(GatewayRequest), mars.Of(LambdaRequest), base.Of(LambdaRequest))
	}
	again := load(t)
	if table, _ := again.Region("us-east-1"); table.Of(GatewayRequest).Cmp(nine) == 0 {
		t.Error("an override changed the embedded book")
	}
}

func TestBadRows(t *testing.T) {
	good := map[string]any{"usd": 1, "per": 1, "unit": "requests", "source": "https://example.com", "date": "2026-11-02"}
	for name, change := range map[string]func(map[string]any){
		"negative":  func(r map[string]any) { r["usd"] = -1 },
		"no usd":    func(r map[string]any) { delete(r, "usd") },
		"text":      func(r map[string]any) { r["usd"] = "cheap" },
		"huge":      func(r map[string]any) { r["usd"] = json.Number("1e99999999") },
		"per zero":  func(r map[string]any) { r["per"] = 0 },
		"no unit":   func(r map[string]any) { r["unit"] = " " },
		"no source": func(r map[string]any) { delete(r, "source") },
		"hearsay":   func(r map[string]any) { r["source"] = "secondary" },
		"no date":   func(r map[string]any) { delete(r, "date") },
		"bad month": func(r map[string]any) { r["date"] = "2026-13" },
		"tier of 0": func(r map[string]any) { r["tiers"] = []any{map[string]any{"above": 0, "usd": 1}} },
		"tiers fall": func(r map[string]any) {
			r["tiers"] = []any{map[string]any{"above": 2, "usd": 1}, map[string]any{"above": 1, "usd": 1}}
		},
		"tier, -1":   func(r map[string]any) { r["tiers"] = []any{map[string]any{"above": 1, "usd": -1}} },
		"wrong name": func(r map[string]any) { r["price"] = 1 },
	} {
		row := map[string]any{}
		for k, v := range good {
			row[k] = v
		}
		change(row)
		for _, shape := range []string{`{"prices": {"x": %s}}`, `{"regions": {"r": {"x": %s}}}`} {
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			if err := load(t).Override([]byte(strings.Replace(shape, "%s", string(text), 1))); err == nil {
				t.Errorf("%s was taken: %s", name, text)
			}
		}
	}
	text, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := load(t).Override([]byte(`{"prices": {"x": ` + string(text) + `}}`)); err != nil {
		t.Errorf("a good row was refused: %v", err)
	}
	for name, doc := range map[string]string{"no base": `{"prices": {}}`, "nothing": ``, "other base": `{"base": "eu-west-1"}`} {
		if _, err := parse([]byte(doc)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if err := load(t).Override([]byte(`{"base": "eu-west-1"}`)); err == nil || !strings.Contains(err.Error(), "regions") {
		t.Errorf("another base was taken, or not explained: %v", err)
	}
}

// TestTiers: each unit is paid at the tier that it falls into.
func TestTiers(t *testing.T) {
	table, _ := load(t).Region("us-east-1")
	for amount, want := range map[int64]string{
		0: "0.00", 1_000_000: "3.50", 333_000_000: "1165.50", 334_000_000: "1168.30", 1_000_000_000: "3033.10",
		2_000_000_000: "5413.10", 20_000_000_000: "48253.10", 21_000_000_000: "49763.10",
	} {
		if got := table.Cost(GatewayRequest, big.NewRat(amount, 1)).FloatString(2); got != want {
			t.Errorf("%d requests: %s USD, want %s", amount, got, want)
		}
	}
	for amount, want := range map[int64]string{10_240: "5120.00", 61_440: "12800.00"} { // TB of logs: 10 at 0.50, 20 at 0.25, 20 at 0.10
		if got := table.Cost(LogsIngestedGB, big.NewRat(amount, 1)).FloatString(2); got != want {
			t.Errorf("%d GB of logs: %s USD, want %s", amount, got, want)
		}
	}
	if got := table.Cost(HTTPRequest, big.NewRat(400_000_000, 1)).FloatString(2); got != "390.00" {
		t.Errorf("400 million requests to an HTTP API: %s USD", got)
	}
	if got := table.Cost(LambdaRequest, big.NewRat(1_000_000_000, 1)).FloatString(2); got != "200.00" {
		t.Errorf("without tiers: %s", got)
	}
}
