package cost

import (
	"math/big"
	"strings"

	"sekisho/functions/internal/money/price"
)

// Report is everything that `sekisho cost` shows. Its amounts are exact; each format rounds.
type Report struct {
	Traffic Traffic
	Lines   []Line
	// PerMillion prices a million calls of each kind.
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

// used are the prices that a report uses.
var used = []price.Key{
	price.GatewayRequest, price.LambdaRequest, price.LambdaGBSecond, price.WriteUnit, price.ReadUnit,
	price.LogsIngestedGB, price.LogsStoredGBMonth, price.DataOutGB, price.AlarmMetricMonth, price.KeyMonth,
	price.AgentCoreCall, price.AgentCorePolicyCall,
}

// Report prices traffic and what it is compared with.
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
		"What a call makes the service do was measured over 1,000 calls (make generate repeats the run). Each call is priced as if " +
			"its key had not been used for a while: a key used again within 30 s saves the reads.",
		"Each failed or denied call is priced with its own delivery of the access log; under load, one delivery carries many.",
		"Durations are " + m.Setup.Origin + ". Take yours from CloudWatch's metric Duration and pass them with --authorizer-ms, " +
			"--mcp-ms, --business-ms and --settle-ms.",
		"Not included: the free tier, taxes, cold starts (about 45 ms of billed time each), and the tables' storage and backups.",
	}
	if tiers := m.untiered(); tiers != "" {
		notes = append(notes, tiers)
	}
	if fell := m.fellBack(); len(fell) > 0 && m.Prices.Region != m.Prices.Base {
		notes = append(notes, "There is no price in "+m.Prices.Region+" for "+strings.Join(fell, ", ")+
			", so those of "+m.Prices.Base+" are used. Pass your own with --prices FILE.")
	}
	return notes
}

// untiered says so where the base region's requests get cheaper by volume and this region's
// are priced at the first tier throughout.
func (m Model) untiered() string {
	p, _ := m.Prices.Price(price.GatewayRequest)
	if len(p.Tiers) > 0 || m.Prices.FellBack(price.GatewayRequest) {
		return ""
	}
	return "The gateway's volume tiers are not known in " + m.Prices.Region + ": from some hundred million requests on it is cheaper than said here."
}

func (m Model) fellBack() (names []string) {
	for _, key := range used {
		if m.Prices.FellBack(key) {
			names = append(names, string(key))
		}
	}
	return names
}
