package cost

import (
	"math/big"
	"strings"

	"sekisho/functions/internal/money/price"
)

// Report is all that `sekisho cost` shows, exact; the formats round it.
type Report struct {
	Traffic Traffic
	Lines   []Line
	// PerMillion prices a million calls of a kind.
	PerMillion   []PerMillion
	Idle         []Line
	Alternatives []Alternative
	Model        Model
	Notes        []string
}

// PerMillion is the price of a million calls of one kind.
type PerMillion struct {
	Name string
	Kind Kind
	USD  *big.Rat
}

// used are the prices that a report rests on.
var used = []price.Key{
	price.GatewayRequest, price.LambdaRequest, price.LambdaGBSecond, price.WriteUnit, price.ReadUnit,
	price.LogsIngestedGB, price.LogsStoredGBMonth, price.DataOutGB, price.AlarmMetricMonth, price.KeyMonth,
	price.AgentCoreCall, price.AgentCorePolicyCall,
}

// Report prices traffic and everything beside it.
func (m Model) Report(t Traffic, idle Idle) *Report {
	r := &Report{
		Traffic: t, Model: m,
		Lines: m.Lines(t), Idle: m.Idle(idle), Alternatives: m.Alternatives(t),
	}
	for _, p := range []PerMillion{
		{Name: "admitted", Kind: Kind{Admitted, t.Via, false}},
		{Name: "denied", Kind: Kind{Denied, t.Via, false}},
		{Name: "denied from memory", Kind: Kind{Denied, t.Via, true}},
		{Name: "failed and refunded", Kind: Kind{Failed, t.Via, false}},
	} {
		p.USD = new(big.Rat).Mul(m.One(p.Kind), big.NewRat(1_000_000, 1))
		r.PerMillion = append(r.PerMillion, p)
	}
	r.Notes = m.notes()
	return r
}

func (m Model) notes() []string {
	notes := []string{
		"What each call makes the stack do was counted in a run of 1,000 calls (make generate repeats it). Each is priced as the " +
			"first that its instance sees of a key: one used again within 30 s saves the reads.",
		"A failed or denied call is priced with a delivery of the log of its own; in a flood, one delivery carries many.",
		"Durations are " + m.Setup.Origin + ". CloudWatch's metric Duration has yours; give them with --authorizer-ms, --mcp-ms, " +
			"--business-ms and --settle-ms.",
		"Not counted: the free tier, taxes, cold starts (about 45 ms of a function's time each), backups and storage of the tables.",
	}
	if fell := m.fellBack(); len(fell) > 0 && m.Prices.Region != m.Prices.Base {
		notes = append(notes, "No price of "+m.Prices.Region+" is known for "+strings.Join(fell, ", ")+
			": those are "+m.Prices.Base+"'s. Give yours with --prices FILE.")
	}
	return notes
}

func (m Model) fellBack() (names []string) {
	for _, key := range used {
		if m.Prices.FellBack(key) {
			names = append(names, string(key))
		}
	}
	return names
}
