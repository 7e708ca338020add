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

// Alternatives prices what Sekisho is compared with, at the same durations.
func (m Model) Alternatives(t Traffic) []Alternative {
	return []Alternative{
		{"counting in the function", "The business function reads three items before it works and adds to the count afterwards: " +
			"3 reads and 1 write per call. Denied calls also run it, with 3 reads. It overshoots the limit under concurrency and refunds nothing.",
			m.readThenAdd(t)},
		{"AgentCore Gateway", "Bedrock AgentCore Gateway instead of gateway, authorizer and mcp, in front of the same function: " +
			"no count per key, no limit, no denials. Its logs are not included.", m.agentCore(t, price.AgentCoreCall)},
		{"AgentCore with Policy", "The same plus one authorization request per call; a policy has no monthly count either.",
			m.agentCore(t, price.AgentCorePolicyCall)},
	}
}

// readThenAdd runs every call as if admitted and counts in the business function.
func (m Model) readThenAdd(t Traffic) []Line {
	n := newNeeds()
	n.add(m.Measured.Of(Kind{Admitted, t.Via, false}), t.Calls)
	n.reads = new(big.Rat).Mul(t.Calls, big.NewRat(3, 1))
	n.writes = new(big.Rat).Sub(t.Calls, t.Denied)
	return m.price(n)
}

// agentCore runs every call. The business function answers as it does to a REST call;
// AgentCore itself replaces the mcp function.
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
