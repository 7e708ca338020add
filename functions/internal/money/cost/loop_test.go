package cost_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
)

// A foolish agent goes on all day. It repeats what fails, tries every tool without looking at its schema,
// and reads no hint.
const (
	callsPerSecond = 8
	retries        = 2
)

// loops are the plans that it meets. run is how long it really runs: until nothing but refusals comes
// any more, of which the rest of the day is made, or where nothing is refused, of more of the same.
var loops = []struct {
	name   string
	limits usage.Limits
	run    time.Duration
}{
	{"no limit", usage.NoLimits, time.Minute},
	{"1,000 a month", usage.PerMonth(1000), 7 * time.Minute},
	{"and 200 a day", usage.Limits{Monthly: 1000, Daily: 200}, 3 * time.Minute},
	{"and 2 a second", usage.Limits{Monthly: 1000, Daily: 200, Rate: ratelimit.Limit{PerSecond: 2, Burst: 10}}, 5 * time.Minute},
}

// loop is what came of one of them in a day.
type loop struct {
	name string
	// by outcome, in a day.
	calls map[cost.Outcome]int64
	units int64
	// codes are how often each refusal came while it really ran, and first the second of the first one.
	codes map[string]int
	first map[string]int
	// last is the second of the last call that was admitted; -1 if none was refused.
	last int
	usd  *big.Rat
}

// TestFoolishAgent: what an agent that heeds nothing costs in a day, and what each limit leaves of it.
func TestFoolishAgent(t *testing.T) {
	var all []loop
	for _, l := range loops {
		all = append(all, runLoop(t, l.name, l.limits, l.run))
	}
	for _, l := range all {
		t.Logf("%-15s admitted %d failed %d denied %d, %d units, last after %d s, %s USD, first %v, %v",
			l.name, l.calls[cost.Admitted], l.calls[cost.Failed], l.calls[cost.Denied], l.units, l.last, l.usd.FloatString(2), l.first, l.codes)
	}
	none, month, day, rate := all[0], all[1], all[2], all[3]
	if none.codes["limit_exceeded"]+none.codes["rate_limited"] > 0 || none.codes["not_found"] == 0 || none.codes["invalid_argument"] == 0 {
		t.Errorf("without a limit the errors are %v", none.codes)
	}
	for l, most := range map[*loop]int64{&month: 1000, &day: 200, &rate: 200} {
		if l.units != most {
			t.Errorf("%s: %d units in a day; want %d", l.name, l.units, most)
		}
		if l.usd.Cmp(none.usd) >= 0 {
			t.Errorf("%s costs %s USD a day, and no limit %s", l.name, l.usd.FloatString(2), none.usd.FloatString(2))
		}
	}
	if first := rate.first["rate_limited"]; first > 10 || rate.codes["limit_exceeded"] == 0 {
		t.Errorf("the rate is first seen after %d s, and the day %d times", first, rate.codes["limit_exceeded"])
	}
	if day.last >= month.last || rate.last <= day.last {
		t.Errorf("calls come through for %d s by the month, %d s by the day, %d s by day and rate", month.last, day.last, rate.last)
	}
	same(t, "loop.svg", drawLoops(all))
}

func runLoop(t *testing.T, name string, limits usage.Limits, run time.Duration) loop {
	t.Helper()
	const plan = "foolish"
	var at atomic.Int64
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	at.Store(start.UnixMilli())
	now := func() time.Time { return time.UnixMilli(at.Load()).UTC() }
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	plans := account.Plans{plan: limits}
	ring := account.Keyring{Store: db.Accounts(), Plans: plans, Now: now}
	if _, err := ring.CreateUser(t.Context(), plan, plan); err != nil {
		t.Fatal(err)
	}
	secret, _, err := ring.CreateKey(t.Context(), plan, "")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	service, err := laptop.New(laptop.Config{
		Functions: laptop.Defaults(map[string]string{boot.Plans: plans.String()}),
		Gateway:   apigateway.Config{Domain: listener.Addr().String(), Stage: "live"},
		Stores:    db, Log: io.Discard, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	server := service.Server()
	go server.Serve(listener)
	defer func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := service.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	a := &agent{t: t, url: "http://" + listener.Addr().String() + "/mcp", key: secret.Reveal()}
	a.explore()
	l := loop{name: name, calls: map[cost.Outcome]int64{}, codes: map[string]int{}, first: map[string]int{}, last: -1}
	var ended map[cost.Outcome]int64 // of the last minute
	seconds := int(run / time.Second)
	for second := range seconds {
		if second == seconds-60 {
			ended = map[cost.Outcome]int64{}
		}
		for range callsPerSecond {
			code := a.next()
			outcome := outcomeOf(code)
			l.calls[outcome]++
			if ended != nil {
				ended[outcome]++
			}
			if code != "" {
				if l.codes[code]++; l.codes[code] == 1 {
					l.first[code] = second
				}
			}
			if outcome == cost.Admitted {
				l.last = second
			}
		}
		at.Add(time.Second.Milliseconds())
	}
	if l.units = a.used(l.charged(limits)); limits == usage.NoLimits {
		l.units *= 24 * 60 // which ran for a minute
	}
	l.price(t, limits, ended, int64(24*60-seconds/60))
	return l
}

// charged are the units that calls cost so far: failures are free up to a cap.
func (l *loop) charged(limits usage.Limits) int64 {
	units := l.calls[cost.Admitted]
	if most := limits.Monthly.FreeFailureCap(); most != usage.Unlimited {
		units += max(0, l.calls[cost.Failed]-int64(most))
	}
	return units
}

// price adds the rest of the day, in minutes like the last one, and prices it.
func (l *loop) price(t *testing.T, limits usage.Limits, minute map[cost.Outcome]int64, rest int64) {
	t.Helper()
	if limits != usage.NoLimits && minute[cost.Admitted] > 0 {
		t.Errorf("%s: calls still come through in the last minute: %v", l.name, minute)
	}
	l.usd = new(big.Rat)
	m := model(t)
	for outcome, n := range minute {
		l.calls[outcome] += n * rest
	}
	for outcome, n := range l.calls {
		one := m.One(cost.Kind{Outcome: outcome, Via: cost.MCP, State: cost.Warm})
		l.usd.Add(l.usd, new(big.Rat).Mul(one, big.NewRat(n, 1)))
	}
}

// outcomeOf is what a call with an error's code is to the model of cost. One that mcp itself refuses, for
// its arguments, costs less than a denied one, and is taken for it.
func outcomeOf(code string) cost.Outcome {
	switch code {
	case "":
		return cost.Admitted
	case "not_found":
		return cost.Failed
	}
	return cost.Denied
}

// agent looks things up, one that there isn't among them, and tries other tools in between.
type agent struct {
	t        *testing.T
	url, key string
	tools    []string
	n, again int
	call     string
}

// explore lists the tools.
func (a *agent) explore() {
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	a.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &answer)
	for _, tool := range answer.Result.Tools {
		if !strings.HasPrefix(tool.Name, "utility_") { // those are free
			a.tools = append(a.tools, tool.Name)
		}
	}
	slices.Sort(a.tools)
	if len(a.tools) < 5 {
		a.t.Fatalf("the tools are %v", a.tools)
	}
}

// next makes a call and returns the code of its error, "" if it has none.
func (a *agent) next() (code string) {
	if a.again == 0 {
		switch a.n % 4 {
		case 0, 1:
			a.call = `"name":"postal_lookup","arguments":{"postal_code":"100-0001"}`
		case 2:
			a.call = `"name":"postal_lookup","arguments":{"postal_code":"000-0000"}`
		case 3:
			a.call = fmt.Sprintf(`"name":%q,"arguments":{"question":"?"}`, a.tools[a.n/4%len(a.tools)])
		}
		a.n++
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	a.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+a.call+`}}`, &answer)
	if !answer.Result.IsError {
		a.again = 0
		return ""
	}
	if a.again++; a.again > retries {
		a.again = 0
	}
	var refusal struct{ Error string }
	if err := json.Unmarshal([]byte(answer.Result.Content[0].Text), &refusal); err != nil || refusal.Error == "" {
		a.t.Fatalf("%v in %v", err, answer)
	}
	return refusal.Error
}

// used are the units of the month, once they are as many as they should be: settle gives some back
// a little later.
func (a *agent) used(want int64) (units int64) {
	for range 300 {
		var answer struct {
			Result struct {
				StructuredContent struct {
					Used int64 `json:"monthly_used"`
				}
			}
		}
		a.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"utility_get_usage","arguments":{}}}`, &answer)
		if units = answer.Result.StructuredContent.Used; units == want {
			return units
		}
		time.Sleep(100 * time.Millisecond)
	}
	a.t.Errorf("%d units are used; want %d", units, want)
	return units
}

func (a *agent) post(message string, answer any) {
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url, strings.NewReader(message))
	if err != nil {
		a.t.Fatal(err)
	}
	for name, value := range map[string]string{"x-api-key": a.key, "Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		a.t.Fatalf("%v: %s", err, body)
	}
}

// drawLoops is the picture: a bar for each plan, as long as its dollars.
func drawLoops(all []loop) []byte {
	const width, left, longest, step, top = 860, 170, 380, 44, 74
	var b bytes.Buffer
	height := top + len(all)*step + 30
	title := "A day of an agent that heeds nothing"
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="Helvetica, Arial, sans-serif">`+"\n", width, height, width, height, title)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	text := func(x, y, size int, weight, anchor, words string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="%d" font-weight="%s" text-anchor="%s" fill="#1c2733">%s</text>`+"\n", x, y, size, weight, anchor, words)
	}
	text(24, 32, 18, "bold", "start", title)
	text(24, 54, 13, "normal", "start", fmt.Sprintf("%d calls a second by MCP, by proxy; what fails is repeated, every tool is tried, no hint is read", callsPerSecond))
	for i, l := range all {
		y := top + i*step
		share, _ := new(big.Rat).Quo(l.usd, all[0].usd).Float64()
		text(left-12, y+20, 14, "normal", "end", l.name)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="28" fill="#1f5a94"/>`+"\n", left, y, share*longest)
		words := l.usd.FloatString(2) + " USD, " + grouped(l.units) + " units"
		if l.codes["limit_exceeded"] > 0 {
			words += fmt.Sprintf(", stopped after %d s", l.last+1)
		}
		text(left+int(share*longest)+10, y+20, 14, "bold", "start", words)
	}
	text(24, height-12, 11, "normal", "start", "Run against the service until only refusals came; the rest of the day is made of the last minute. Refusals cost, too: the brake ends them.")
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// grouped writes a number with commas.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
