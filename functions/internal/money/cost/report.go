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
	price.GatewayRequest, price.HTTPRequest, price.LambdaRequest, price.LambdaGBSecond, price.WriteUnit, price.ReadUnit,
	price.LogsIngestedGB, price.LogsStoredGBMonth, price.DataOutGB, price.AlarmMetricMonth, price.KeyMonth,
	price.AgentCoreCall, price.AgentCorePolicyCall,
}

// Report prices traffic and what it is compared with.
func (m Model) Report(t Traffic, idle Idle) *Report {
	r := &Report{
		Traffic: t, Model: m,
		Lines: m.Lines(t), Idle: m.Idle(idle.With(t.Via)), Alternatives: m.Alternatives(t),
	}
	r.PerMillion = m.PerMillion(t.Via)
	r.Notes = m.notes()
	return r
}

// PerMillion prices a million calls of each kind by one way.
func (m Model) PerMillion(via Via) []PerMillion {
	all := []PerMillion{
		{Name: "admitted", Kind: Kind{Admitted, via, Cold}},
		{Name: "admitted, key in memory", Kind: Kind{Admitted, via, Warm}},
		{Name: "failed and refunded", Kind: Kind{Failed, via, Cold}},
		{Name: "denied", Kind: Kind{Denied, via, Cold}},
		{Name: "denied from memory", Kind: Kind{Denied, via, Warm}},
		{Name: "denied in a burst", Kind: Kind{Denied, via, Burst}},
	}
	for i, p := range all {
		all[i].USD = new(big.Rat).Mul(m.One(p.Kind), big.NewRat(1_000_000, 1))
	}
	return all
}

func (m Model) notes() []string {
	notes := []string{
		"What a call makes the service do was measured over 1,250 calls (make generate repeats the run). Each call is priced as if " +
			"its key had not been used for a while: a key used again within 30 s saves the reads.",
		"A sign-in is five requests, a refresh one. What they ask of the tables was measured; their lines in the log and answers are assumed.",
		"Each failed or denied call is priced with its own delivery of the log to settle. Under load one delivery carries many: " +
			"in a burst, settle and its write for a hundred calls come to two of each.",
		"Durations are " + m.Setup.Origin + ". Take yours from CloudWatch's metric Duration and pass them with --authorizer-ms, " +
			"--mcp-ms, --business-ms, --settle-ms and --oauth-ms.",
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

// untiered names the prices that get lower by volume in the base region, and of which this region
// has only the first tier.
func (m Model) untiered() string {
	var names []string
	for _, key := range used {
		if m.Prices.Untiered(key) {
			names = append(names, string(key))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "The volume tiers of " + strings.Join(names, ", ") + " are not known in " + m.Prices.Region + ": large volumes cost less than said here."
}

func (m Model) fellBack() (names []string) {
	for _, key := range used {
		if m.Prices.FellBack(key) {
			names = append(names, string(key))
		}
	}
	return names
}
