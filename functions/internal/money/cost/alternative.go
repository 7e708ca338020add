package cost

import (
	"math/big"

	"sekisho/functions/internal/money/price"
)

// Alternative is the same traffic served another way.
type Alternative struct {
	Name string
	// Note says what is priced, and what the alternative can't do.
	Note  string
	Lines []Line
}

// Alternatives prices what the topology is compared with: the others, and what is not Sekisho.
func (m Model) Alternatives(t Traffic) []Alternative {
	var all []Alternative
	for _, via := range Topologies {
		if via == t.Via || t.Via == REST {
			continue
		}
		other := t
		other.Via = via
		all = append(all, Alternative{via.title(), topologies[via], m.Lines(other)})
	}
	return append(all,
		Alternative{"counting in the function", "The business function reads three items before it works and adds to the count afterwards: " +
			"3 reads and 1 write per call. Denied calls also run it, with 3 reads. It overshoots the limit under concurrency and refunds nothing.",
			m.readThenAdd(t)},
		Alternative{"AgentCore Gateway", "Bedrock AgentCore Gateway instead of gateway, authorizer and mcp, in front of the same function: " +
			"limits per second or minute and per session; no monthly plan for each key, no refunds, no ceiling in dollars. Its logs are not included.",
			m.agentCore(t, price.AgentCoreCall)},
		Alternative{"AgentCore with Policy", "The same plus one authorization request per call; a policy has no monthly count either.",
			m.agentCore(t, price.AgentCorePolicyCall)},
	)
}

// topologies says what each is.
var topologies = map[Via]string{
	MCP:        "Each call goes through the REST API twice; mcp holds no rights, and calls the API with the caller's key.",
	DirectHTTP: "Calls reach mcp by an HTTP API; mcp admits them and invokes their functions.",
	DirectURL:  "Calls reach mcp by a function URL, which has no price and no throttle of its own; mcp admits them and invokes their functions.",
}

// title names a way in as a column or a bar.
func (v Via) title() string {
	_, topology := v.Split()
	if topology == "" {
		return "Sekisho"
	}
	return "Sekisho, " + topology
}

// readThenAdd runs every call as if admitted and counts in the business function.
func (m Model) readThenAdd(t Traffic) []Line {
	n := newNeeds()
	m.add(n, m.Measured.Of(Kind{Admitted, t.Via, Cold}), Kind{Admitted, t.Via, Cold}, t.Calls)
	n.reads = new(big.Rat).Mul(t.Calls, big.NewRat(3, 1))
	n.writes = new(big.Rat).Sub(t.Calls, t.Denied)
	return m.price(n)
}

// agentCore runs every call. The business function answers as it does to a REST call;
// AgentCore itself replaces the mcp function.
func (m Model) agentCore(t Traffic, key price.Key) []Line {
	n := newNeeds()
	kind := Kind{Admitted, REST, Cold}
	m.start(n, "business", kind, t.Calls)
	c := m.Measured.Of(kind)
	n.answerBytes = new(big.Rat).Mul(t.Calls, big.NewRat(c.AnswerBytes, c.Calls))
	lines := []Line{m.line("AgentCore", item{t.Calls, "tool calls", key})}
	for _, l := range m.price(n) {
		if l.USD.Sign() > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}
