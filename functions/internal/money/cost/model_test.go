package cost_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/money/price"
)

func model(t testing.TB) cost.Model {
	t.Helper()
	book, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	measured, err := cost.Load()
	if err != nil {
		t.Fatal(err)
	}
	table, _ := book.Region(book.Base)
	return cost.Model{Measured: measured, Prices: table, Setup: setup(t)}
}

func setup(t fataler) cost.Setup {
	s, err := cost.DefaultSetup()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fataler is testing.TB or *rapid.T.
type fataler interface{ Fatal(args ...any) }

func traffic(t testing.TB, calls, denied, failed string, via cost.Via) cost.Traffic {
	t.Helper()
	tr, err := cost.ParseTraffic(calls, denied, failed, via)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func report(t testing.TB, calls, denied string) *cost.Report {
	t.Helper()
	idle, err := cost.IdleStack()
	if err != nil {
		t.Fatal(err)
	}
	return model(t).Report(traffic(t, calls, denied, "", cost.MCP), idle)
}

// TestByHand compares the price of a million admitted REST calls with figures worked out by
// hand from counts and prices: one request, one write and one read unit, two functions.
func TestByHand(t *testing.T) {
	m := model(t)
	m.Setup = setup(t)
	lines := m.Lines(traffic(t, "1000000", "", "", cost.REST))
	want := map[string]string{
		"gateway":    "3.500000", // 1,000,000 × 3.50 per million
		"authorizer": "0.250000", // 0.20 + 1,000,000 × 0.25 GB × 0.015 s × 0.0000133334 = 0.20 + 0.05000025
		"mcp":        "0.000000", // not involved
		"business":   "0.216667", // 0.20 + 1,000,000 × 0.25 GB × 0.005 s × 0.0000133334 = 0.20 + 0.01666675
		"settle":     "0.000000", // nothing failed
		"DynamoDB":   "0.750000", // 0.625 + 0.125
	}
	for _, l := range lines {
		if w, ok := want[l.Name]; ok && l.USD.FloatString(6) != w {
			t.Errorf("%s: %s USD, by hand %s", l.Name, l.USD.FloatString(6), w)
		}
		delete(want, l.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing lines: %v", want)
	}
}

// TestCountsPerCall spells out what a single call must cost: one write if it succeeds, and
// none if it is denied from memory, except for settle's count of denials.
func TestCountsPerCall(t *testing.T) {
	m := model(t).Measured
	for kind, want := range map[cost.Kind]struct{ requests, reads, writes, authorizer, mcp, business, settle int64 }{
		// An HTTP API bills each request; a function URL bills none. mcp admits by itself, and gives
		// back by itself.
		{cost.Admitted, cost.DirectHTTP, cost.Cold}: {1, 1, 1, 0, 1, 1, 0},
		{cost.Admitted, cost.DirectHTTP, cost.Warm}: {1, 0, 1, 0, 1, 1, 0},
		{cost.Denied, cost.DirectHTTP, cost.Cold}:   {1, 1, 2, 0, 1, 0, 1},
		{cost.Failed, cost.DirectHTTP, cost.Warm}:   {1, 0, 5, 0, 1, 1, 0},
		{cost.Admitted, cost.DirectURL, cost.Cold}:  {0, 1, 1, 0, 1, 1, 0},
		{cost.Admitted, cost.DirectURL, cost.Warm}:  {0, 0, 1, 0, 1, 1, 0},
		{cost.Denied, cost.DirectURL, cost.Warm}:    {0, 0, 1, 0, 1, 0, 1},
		{cost.Failed, cost.DirectURL, cost.Cold}:    {0, 1, 5, 0, 1, 1, 0},
		// A token is two items to read, the grant and its key, in place of the key alone.
		{cost.Admitted, cost.OAuth, cost.Cold}: {1, 2, 1, 0, 1, 1, 0},
		{cost.Admitted, cost.OAuth, cost.Warm}: {1, 0, 1, 0, 1, 1, 0},
		{cost.Denied, cost.OAuth, cost.Cold}:   {1, 2, 2, 0, 1, 0, 1},
		{cost.Failed, cost.OAuth, cost.Warm}:   {1, 0, 5, 0, 1, 1, 0},
		{cost.Admitted, cost.MCP, cost.Cold}:   {2, 2, 1, 1, 1, 1, 0},
		{cost.Admitted, cost.MCP, cost.Warm}:   {2, 0, 1, 1, 1, 1, 0},
		{cost.Admitted, cost.REST, cost.Cold}:  {1, 1, 1, 1, 0, 1, 0},
		{cost.Admitted, cost.REST, cost.Warm}:  {1, 0, 1, 1, 0, 1, 0},
		{cost.Denied, cost.MCP, cost.Cold}:     {1, 2, 2, 1, 1, 0, 1}, // the request that is denied is not billed
		{cost.Denied, cost.MCP, cost.Warm}:     {1, 0, 1, 1, 1, 0, 1},
		{cost.Denied, cost.REST, cost.Cold}:    {0, 1, 2, 1, 0, 0, 1},
		{cost.Denied, cost.REST, cost.Warm}:    {0, 0, 1, 1, 0, 0, 1},
		{cost.Failed, cost.MCP, cost.Cold}:     {2, 2, 5, 1, 1, 1, 1}, // a refund is a transaction of two writes
		{cost.Failed, cost.REST, cost.Warm}:    {1, 0, 5, 1, 0, 1, 1},
	} {
		c := m.Of(kind)
		n := c.Calls
		if c.BilledRequests+c.HTTPRequests != want.requests*n || (c.HTTPRequests > 0) != (kind.Via == cost.DirectHTTP || kind.Via == cost.OAuth) || c.ReadUnits != want.reads*n || c.WriteUnits != want.writes*n ||
			c.Invocations["authorizer"] != want.authorizer*n || c.Invocations["mcp"] != want.mcp*n ||
			c.Invocations["business"] != want.business*n || c.Invocations["settle"] != want.settle*n {
			t.Errorf("%s: %+v, want for each of the calls %+v", kind, c, want)
		}
	}
	for _, via := range cost.Ways {
		c := m.Of(cost.Kind{Outcome: cost.Denied, Via: via, State: cost.Burst})
		if c.Calls != 100 || c.Invocations["settle"] != 2 || c.WriteUnits != 2 || c.ReadUnits != 0 {
			t.Errorf("a burst by %s: %+v, want two deliveries, each with a write", via, c)
		}
	}
}

// TestSignInByHand: the consent reads the key and the list of its grants, and writes grant and list in a
// transaction, which is billed twice over; the token reads the grant and its key, and writes the grant.
// Once renewed, a grant takes two units.
func TestSignInByHand(t *testing.T) {
	m := model(t)
	for visit, want := range map[cost.Visit]struct {
		requests, reads, writes int64
		oauth                   string // 0.20 per million, and 0.25 GB × 0.020 s × 0.0000133334 each
	}{
		cost.SignIn:  {5, 4, 5, "0.001333"},
		cost.Refresh: {1, 2, 2, "0.000267"},
	} {
		c := m.Measured.Visits[visit]
		if n := c.Calls; c.HTTPRequests != want.requests*n || c.Invocations["oauth"] != want.requests*n || c.ReadUnits != want.reads*n || c.WriteUnits != want.writes*n {
			t.Errorf("%s: %+v, want of each %+v", visit, c, want)
		}
		// Gateway, DynamoDB and oauth by hand; the rest is bytes.
		least := new(big.Rat).SetFloat64(float64(want.requests)*0.001 + float64(want.reads)*0.000125 + float64(want.writes)*0.000625)
		oauth, _ := new(big.Rat).SetString(want.oauth)
		least.Add(least, oauth)
		bytes := new(big.Rat).Sub(m.Thousand(visit), least)
		if usd, _ := bytes.Float64(); usd < 0.0001*float64(want.requests) || usd > 0.0004*float64(want.requests) {
			t.Errorf("a thousand of %s cost %s USD; without logs and answers, by hand %s", visit, m.Thousand(visit).FloatString(6), least.FloatString(6))
		}
	}
}

// TestDirectByHand compares a million calls through a function URL with figures worked out by hand.
func TestDirectByHand(t *testing.T) {
	m := model(t)
	for _, c := range []struct {
		via     cost.Via
		denied  string
		gateway string
		mcp     string
	}{
		// 1,000,000 × 1.00 per million; 0.20 + 1,000,000 × 0.25 GB × 0.035 s × 0.0000133334
		{cost.DirectHTTP, "", "1.000000", "0.316667"},
		{cost.DirectURL, "", "0.000000", "0.316667"},
		{cost.DirectURL, "1000000", "0.000000", "0.250000"}, // 0.015 s
	} {
		for _, l := range m.Lines(traffic(t, "1000000", c.denied, "", c.via)) {
			if want, ok := map[string]string{"gateway": c.gateway, "mcp": c.mcp, "authorizer": "0.000000"}[l.Name]; ok && l.USD.FloatString(6) != want {
				t.Errorf("%s of %s, %q denied: %s USD, by hand %s", l.Name, c.via, c.denied, l.USD.FloatString(6), want)
			}
		}
	}
	if err := m.Setup.GiveDuration("mcp", 100); err != nil {
		t.Fatal(err)
	}
	for _, l := range m.Lines(traffic(t, "1000000", "", "", cost.DirectURL)) {
		if l.Name == "mcp" && l.USD.FloatString(6) != "0.533335" { // 0.1 s
			t.Errorf("a duration that is given is not used: %s", l.USD.FloatString(6))
		}
	}
}

// TestWriteUnitOfABusyKey: a write costs one unit while the meter's item is within 1 KB. The
// item grows by two attributes for each tool that has been both charged and refunded.
func TestWriteUnitOfABusyKey(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	n := func(digits int) types.AttributeValue {
		return &types.AttributeValueMemberN{Value: strings.Repeat("9", digits)}
	}
	s := func(length int) types.AttributeValue {
		return &types.AttributeValueMemberS{Value: strings.Repeat("x", length)}
	}
	item := map[string]types.AttributeValue{
		"pk": s(len("meter#key_abcdefghijklmnop#2026-11")), "expires_at": n(10), "used": n(6), "refunded": n(6), "denied": n(6),
	}
	for slot := range 6 {
		item["s"+strconv.Itoa(slot)] = s(len("adm_") + 20)
	}
	charged := 0
	for _, op := range api.Operations {
		if op.Units > 0 {
			charged++
			item["+"+op.ID], item["-"+op.ID] = n(6), n(6)
		}
	}
	size, err := dynamotest.SizeOf(item)
	if err != nil {
		t.Fatal(err)
	}
	if size > 1024 {
		t.Errorf("a key that has used and failed with all %d tools has an item of %d bytes: each of its calls costs two write units", charged, size)
	}
	t.Logf("%d bytes of 1,024 after all %d tools were used and failed", size, charged)
}

// TestSum: exact lines add up to the exact total and, in every format, the lines shown add up
// to the total shown.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		calls := rapid.Int64Range(0, 10_000_000).Draw(t, "calls")
		tr, err := cost.ParseTraffic(strconv.FormatInt(calls, 10),
			rapid.StringMatching(`[1-9]?[0-9](\.[0-9]{1,3})?%`).Draw(t, "denied"),
			rapid.StringMatching(`[1-9]?[0-9](\.[0-9]{1,3})? %`).Draw(t, "failed"),
			rapid.SampledFrom(cost.Ways).Draw(t, "via"))
		if err != nil {
			t.Fatal(err)
		}
		book, err := price.Load()
		if err != nil {
			t.Fatal(err)
		}
		measured, err := cost.Load()
		if err != nil {
			t.Fatal(err)
		}
		table, _ := book.Region(rapid.SampledFrom(book.Names()).Draw(t, "region"))
		m := cost.Model{Measured: measured, Prices: table, Setup: setup(t)}
		lines := m.Lines(tr)
		perCall := new(big.Rat)
		for _, o := range []cost.Outcome{cost.Admitted, cost.Failed, cost.Denied} {
			one := m.One(cost.Kind{Outcome: o, Via: tr.Via})
			perCall.Add(perCall, one.Mul(one, tr.Number(o)))
		}
		if cost.Total(lines).Cmp(perCall) != 0 {
			t.Fatalf("lines add up to %s, the calls one by one to %s", cost.Total(lines), perCall)
		}
		amounts, total, decimals := cost.Rounded(lines)
		shown := int64(0)
		for _, n := range amounts {
			shown += n
		}
		exact, _ := new(big.Rat).SetString(cost.Total(lines).FloatString(decimals))
		if shown != total || new(big.Rat).Quo(big.NewRat(total, 1), pow(decimals)).Cmp(exact) != 0 {
			t.Fatalf("shown lines add up to %d, the total is %d, exactly %s", shown, total, exact)
		}
		checkCSV(t, m.Report(tr, cost.Idle{}))
		checkJSON(t, m.Report(tr, cost.Idle{}))
	})
}

func pow(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

func checkCSV(t *rapid.T, r *cost.Report) {
	var out bytes.Buffer
	if err := r.CSV(&out); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var amounts, shares []string
	for _, row := range rows[1:] {
		amounts, shares = append(amounts, row[1]), append(shares, row[2])
	}
	checkColumn(t, amounts)
	checkColumn(t, shares)
}

// checkColumn checks that the last figure is the sum of the others.
func checkColumn(t *rapid.T, figures []string) {
	sum := new(big.Rat)
	for i, figure := range figures {
		n, ok := new(big.Rat).SetString(figure)
		if !ok {
			t.Fatalf("%q is not a number", figure)
		}
		if i == len(figures)-1 {
			if n.Cmp(sum) != 0 {
				t.Fatalf("%v: the last is not the sum", figures)
			}
			return
		}
		sum.Add(sum, n)
	}
}

func checkJSON(t *rapid.T, r *cost.Report) {
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	type sum struct {
		Lines []struct{ USD json.Number }
		Total json.Number `json:"total_usd"`
	}
	var got struct {
		sum
		Alternatives []sum
		Prices       map[string]struct{ Source, Date string }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, s := range append(got.Alternatives, got.sum) {
		var column []string
		for _, l := range s.Lines {
			column = append(column, l.USD.String())
		}
		checkColumn(t, append(column, s.Total.String()))
	}
	if len(got.Prices) == 0 || got.Prices["dynamodb_write_unit"].Source == "" || len(got.Alternatives) < 3 {
		t.Fatalf("prices %v, %d alternatives", got.Prices, len(got.Alternatives))
	}
}

// TestAlternatives checks what each alternative is charged for.
func TestAlternatives(t *testing.T) {
	quantities := func(lines []cost.Line) map[string]string {
		all := map[string]string{}
		for _, l := range lines {
			for _, q := range l.Counted {
				if q.Amount.Sign() > 0 {
					all[l.Name+": "+q.Unit] = q.Amount.FloatString(0)
				}
			}
		}
		return all
	}
	r := report(t, "1000000", "100000")
	for i, want := range []map[string]string{
		{"mcp: invocations": "1000000", "gateway: HTTP API requests": "1000000", "business: invocations": "900000"},
		{"mcp: invocations": "1000000", "settle: invocations": "100000"},
		{"DynamoDB: read units": "3000000", "DynamoDB: write units": "900000", "business: invocations": "1000000", "gateway: requests": "2000000"},
		{"AgentCore: tool calls": "1000000", "business: invocations": "1000000"},
		{"AgentCore: tool calls": "1000000", "business: invocations": "1000000"},
	} {
		got := quantities(r.Alternatives[i].Lines)
		for name, n := range want {
			if got[name] != n {
				t.Errorf("%s: %s of %s, want %s", r.Alternatives[i].Name, got[name], name, n)
			}
		}
		if _, ok := got["settle: invocations"]; ok && i >= 2 {
			t.Errorf("%s settles", r.Alternatives[i].Name)
		}
	}
	if usd := r.Alternatives[4].Lines[0].USD; usd.Cmp(big.NewRat(30, 1)) != 0 {
		t.Errorf("a million calls with Policy are %s USD", usd)
	}
}

func TestApportion(t *testing.T) {
	for _, c := range []struct {
		amounts []*big.Rat
		want    []int64
		total   int64
	}{
		{[]*big.Rat{big.NewRat(1, 3), big.NewRat(1, 3), big.NewRat(1, 3)}, []int64{34, 33, 33}, 100},
		{[]*big.Rat{big.NewRat(1, 1000), big.NewRat(2, 1000), big.NewRat(3, 1000)}, []int64{0, 0, 1}, 1},
		{[]*big.Rat{big.NewRat(5, 1000)}, []int64{1}, 1},
		{[]*big.Rat{new(big.Rat), new(big.Rat)}, []int64{0, 0}, 0},
		{nil, nil, 0},
	} {
		got, total := cost.Apportion(c.amounts, 2)
		if total != c.total || len(got) != len(c.want) {
			t.Errorf("%v: %v, %d; want %v, %d", c.amounts, got, total, c.want, c.total)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v: %v, want %v", c.amounts, got, c.want)
			}
		}
	}
	if got := cost.Shares(big.NewRat(100, 1), []*big.Rat{new(big.Rat), new(big.Rat)}, 1); got[0] != 0 || got[1] != 0 {
		t.Errorf("shares of nothing: %v", got)
	}
}

func TestParseTraffic(t *testing.T) {
	tr := traffic(t, "150", "10 %", "1%", cost.REST)
	if tr.Denied.Cmp(big.NewRat(15, 1)) != 0 || tr.Failed.Cmp(big.NewRat(135, 100)) != 0 || tr.Number(cost.Admitted).Cmp(big.NewRat(13365, 100)) != 0 {
		t.Errorf("denied %s, failed %s, admitted %s", tr.Denied, tr.Failed, tr.Number(cost.Admitted))
	}
	for name, c := range map[string][4]string{
		"words":           {"many", "", "", "calls: must be a whole number"},
		"negative":        {"-1", "", "", "calls: must be a whole number"},
		"too many":        {"999999999999999", "", "", "at most"},
		"part of calls":   {"10%", "", "", "calls: must be a whole number"},
		"denied too many": {"10", "11", "", "denied: must be at most all 10"},
		"denied part":     {"10", "101%", "", "at most 100%"},
		"denied word":     {"10", "ten", "", "or a percentage such as"},
		"failed too many": {"10", "5", "6", "failed: must be at most the 5"},
		"failed fraction": {"10", "", "0.01", "or a percentage such as"},
		"failed two":      {"10", "", "1%%", "or a percentage such as"},
	} {
		if _, err := cost.ParseTraffic(c[0], c[1], c[2], cost.MCP); err == nil || !strings.Contains(err.Error(), c[3]) {
			t.Errorf("%s: %v, want %q", name, err, c[3])
		}
	}
}

func TestSetup(t *testing.T) {
	s := setup(t)
	for _, ms := range []float64{-1, 900_001} {
		if s.GiveDuration("mcp", ms) == nil {
			t.Errorf("%g ms were taken", ms)
		}
	}
	for name, mb := range map[string]int64{"mcp": 64, "nobody": 128, "settle": 20_000} {
		if s.GiveMemory(name, mb) == nil {
			t.Errorf("%s with %d MB was taken", name, mb)
		}
	}
	if err := s.GiveDuration("mcp", 12.5); err != nil || !strings.Contains(s.Origin, "given") || s.DurationMS["mcp"].Cmp(big.NewRat(25, 2)) != 0 {
		t.Errorf("12.5 ms: %v, %s", err, s.Origin)
	}
}

// TestWAF: a million requests by REST and a month of one rule, by hand 0.60 and 6 dollars.
func TestWAF(t *testing.T) {
	m := model(t)
	without := cost.Total(m.Lines(traffic(t, "1000000", "", "", cost.REST)))
	idle := cost.Total(m.Idle(cost.Idle{}))
	m.Setup.WAF = true
	with := cost.Total(m.Lines(traffic(t, "1000000", "", "", cost.REST)))
	if difference := new(big.Rat).Sub(with, without); difference.Cmp(big.NewRat(6, 10)) != 0 {
		t.Errorf("a million requests cost %s dollars more, want 0.60", difference.FloatString(4))
	}
	if difference := new(big.Rat).Sub(cost.Total(m.Idle(cost.Idle{})), idle); difference.Cmp(big.NewRat(6, 1)) != 0 {
		t.Errorf("a month costs %s dollars more, want 6", difference.FloatString(4))
	}
}

// TestMemoryIsTheContracts: the model prices the memory that is deployed.
func TestMemoryIsTheContracts(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	for name, mb := range setup(t).MemoryMB {
		if want := api.Function(name).MemoryMB; mb != want {
			t.Errorf("%s has %d MB in the model, the contract says %d", name, mb, want)
		}
	}
	for _, name := range api.Functions() {
		f, model := api.Function(name), "business"
		if name == "mcp" {
			model = name
		}
		if priced := setup(t).MemoryMB[model]; f.MemoryMB != priced {
			t.Errorf("%s has %d MB, and the model prices it as %s with %d: give it a line of its own", name, f.MemoryMB, model, priced)
		}
	}
}
