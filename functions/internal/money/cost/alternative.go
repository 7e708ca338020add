package cost

import (
	"math/big"

	"sekisho/functions/internal/money/price"
)

// Alternative is the same traffic, served another way.
type Alternative struct {
	Name string
	// Note says what is counted, and what it does not do.
	Note  string
	Lines []Line
}

// Alternatives are the ways that Sekisho is compared with, at the same durations.
func (m Model) Alternatives(t Traffic) []Alternative {
	return []Alternative{
		{"counting in the function", "The business function reads three items before it works and adds to the count afterwards: " +
			"3 reads and 1 write a call; a denied call runs it too, with 3 reads. It overshoots under concurrency and gives nothing back.",
			m.readThenAdd(t)},
		{"AgentCore Gateway", "Bedrock AgentCore Gateway in the place of gateway, authorizer and mcp, before the same function: " +
			"no count per key, no limit, nothing is denied. Logs are not counted.", m.agentCore(t, price.AgentCoreCall)},
		{"AgentCore with Policy", "The same with an authorization request for each call; a policy has no monthly count either.",
			m.agentCore(t, price.AgentCorePolicyCall)},
	}
}

// readThenAdd lets all calls run as if admitted, and counts in the business function.
func (m Model) readThenAdd(t Traffic) []Line {
	n := newNeeds()
	n.add(m.Measured.Of(Kind{Admitted, t.Via, false}), t.Calls)
	n.reads = new(big.Rat).Mul(t.Calls, big.NewRat(3, 1))
	n.writes = new(big.Rat).Sub(t.Calls, t.Denied)
	return m.price(n)
}

// agentCore runs every call; the business function logs and answers as it does here, by a
// call over REST. The mcp function is the gateway's own.
func (m Model) agentCore(t Traffic, key price.Key) []Line {
	n := newNeeds()
	n.invocations["business"] = t.Calls
	c := m.Measured.Of(Kind{Admitted, REST, false})
	n.answerBytes = new(big.Rat).Mul(t.Calls, big.NewRat(c.AnswerBytes, c.Calls))
	lines := []Line{m.line("AgentCore", item{t.Calls, "tool calls", key})}
	for _, l := range m.price(n) {
		if l.USD.Sign() > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}
