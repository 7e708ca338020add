//go:build interop

package hosts

import (
	"testing"
	"time"
)

// scenario is one turn of the model: what is arranged before it, and the calls of it.
type scenario struct {
	name  string
	calls []toolCall
	// plan is whose key the calls come with; roomy where it is "".
	plan  string
	fault fault
	// before changes the service.
	before func(*testing.T, *service)
	// after puts it in order again, when the results have come.
	after func(*testing.T, *service)
}

func call(tool string, arguments object) toolCall { return toolCall{Tool: tool, Arguments: arguments} }

var (
	lookup  = call("postal_lookup", object{"postal_code": place})
	success = []toolCall{lookup}
)

const diagnose, era = "utility_diagnose_mcp", "convert_era"

// heldFor is longer than any call takes here, where API Gateway ends each after 29 s.
const heldFor = 31 * time.Second

// shortWait is the waiting that hosts are configured with, in seconds, and heldPast a call that is longer.
const (
	shortWait = 5
	heldPast  = 12 * time.Second
)

// A host goes through each of these in one conversation, so that it shows how it goes on.
var conversations = []struct {
	name      string
	short     int
	scenarios []scenario
}{
	{name: "results", scenarios: []scenario{
		{name: "success", calls: success, plan: counted},
		{name: "text or structured", calls: success, fault: fault{mark: true}},
		{name: "arguments to be read", calls: []toolCall{
			call("calendar_holidays", object{"year": "2026"}),
			call("postal_search", object{"prefix": "10000", "address": "", "limit": nil}),
			call("postal_lookup", object{"postal_code": place, "country": "JP"}),
		}},
		{name: "wrong argument", calls: []toolCall{call("postal_lookup", object{"postal_code": "1"})}},
		{name: "upstream error with a wait", calls: []toolCall{call("external_fetch_stats", object{"resource_id": busy})}},
		{name: "month used up", calls: success, plan: monthly},
		{name: "day used up", calls: success, plan: daily},
		{name: "rate used up", calls: success, plan: slow},
		{name: "progress", calls: []toolCall{call(diagnose, object{})}},
		{name: "eight at once", calls: lookups("100-0001", "100-0002", "100-0003", "100-0004", "100-0005", "100-0006", "100-0011", "100-0012"), fault: fault{hold: 500 * time.Millisecond}},
		{
			name: "tool switched off", calls: []toolCall{call(era, object{"date": "2026-11-30"})},
			before: func(t *testing.T, s *service) { s.switchOff(t, s.keys[roomy], "convert.era") },
		},
		{name: "largest answer", calls: []toolCall{call("external_fetch_stats", object{"resource_id": large})}},
		{name: "1 MB", calls: []toolCall{call("external_fetch_stats", object{"resource_id": tooLarge})}},
		{name: "held for 31 s", calls: success, fault: fault{hold: heldFor}},
		{
			name: "key revoked", calls: lookups("100-0003"),
			before: func(t *testing.T, s *service) { s.run(t, "keys", "revoke", s.keyID(t, roomy)) },
		},
	}},
	{name: "failures", short: shortWait, scenarios: []scenario{
		{name: "429", calls: lookups("100-0001"), fault: fault{status: 429, wait: 1}},
		{name: "after 429", calls: lookups("100-0002")},
		{name: "503", calls: lookups("100-0003"), fault: fault{status: 503, wait: 1}},
		{name: "after 503", calls: lookups("100-0004")},
		{name: "500", calls: lookups("100-0005"), fault: fault{status: 500}},
		{name: "after 500", calls: lookups("100-0006")},
		{name: "cut", calls: lookups("100-0011"), fault: fault{cut: true}},
		{name: "after cut", calls: lookups("100-0012")},
		{name: "time-out", calls: lookups("100-0013"), fault: fault{hold: heldPast}},
		{name: "after time-out", calls: lookups("100-0014")},
		{
			name: "braked", calls: lookups("100-0001"),
			before: func(t *testing.T, s *service) { s.run(t, "brake", "on") },
			after:  func(t *testing.T, s *service) { s.run(t, "brake", "off") },
		},
		{name: "after braked", calls: lookups("100-0002")},
	}},
}

// lookups are different calls: some hosts end a run whose calls are all the same.
func lookups(codes ...string) (all []toolCall) {
	for _, code := range codes {
		all = append(all, call("postal_lookup", object{"postal_code": code}))
	}
	return all
}

// outcome is what became of a scenario.
type outcome struct {
	scenario
	results []given
	sent    sent
	// took is the time from the calls to their results.
	took    time.Duration
	started time.Time
	// offered are the tools that the model had when it made the calls, and the whole request.
	offered []offered
	request string
	// tools are those that it has afterwards.
	tools []offered
}

// conversation plays scenarios to one host, turn by turn.
type conversation struct {
	t         *testing.T
	service   *service
	scenarios []scenario
	outcomes  []outcome
}

// next is the script: it ends one scenario and starts another.
func (c *conversation) next(turn int, a asked) []toolCall {
	if turn != len(c.outcomes) || turn > len(c.scenarios) {
		c.t.Errorf("the host comes to turn %d after %d", turn, len(c.outcomes))
		return nil
	}
	if turn > 0 {
		o := &c.outcomes[turn-1]
		o.results, o.tools = a.results, a.tools
		o.took = time.Since(o.started)
		o.sent = c.service.proxy.begin(fault{}, "")
		if o.after != nil {
			o.after(c.t, c.service)
		}
	}
	if turn == len(c.scenarios) {
		return nil
	}
	s := c.scenarios[turn]
	if s.before != nil {
		s.before(c.t, c.service)
	}
	key := ""
	if s.plan != "" {
		key = c.service.keys[s.plan]
	}
	c.service.proxy.begin(s.fault, key)
	c.outcomes = append(c.outcomes, outcome{scenario: s, offered: a.tools, request: a.raw, started: time.Now()})
	return s.calls
}

// ended reports whether the host came to the end.
func (c *conversation) ended() bool {
	return len(c.outcomes) == len(c.scenarios) && c.outcomes[len(c.outcomes)-1].results != nil
}
