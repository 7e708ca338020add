// Package chargeback splits a month by meter and tool: what was charged, refunded and
// denied, and the share of the bill.
//
// Figures per tool cost no extra write. Admissions and refunds record their operation in the
// write they make anyway, so charged and refunded units come from the counters. Denied calls
// are counted per meter and split by tool from the access log, which API Gateway writes
// anyway. If the log has fewer than the counter, for instance because its records expired,
// the difference gets a row of its own, so sums always equal the counters.
package chargeback

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// Tool names of rows that belong to no tool.
const (
	// NotInLog has what the counter has and the log doesn't.
	NotInLog = "(not in the log)"
	// NotCounted has, as negative numbers, what the log has and the counter doesn't yet:
	// denials are counted minutes after they are logged.
	NotCounted = "(not counted yet)"
)

// Subject is the meter and the operation of a refused call, and why it was refused. A call that
// was throttled before its key was read has neither meter nor operation.
type Subject struct {
	Meter, Operation string
	Why              problem.Code
}

// Denials counts refused calls.
type Denials map[Subject]int64

// Add counts those of another log too.
func (d Denials) Add(more Denials) {
	for subject, n := range more {
		d[subject] += n
	}
}

// Reasons counts them by why.
func (d Denials) Reasons() map[problem.Code]int64 {
	reasons := map[problem.Code]int64{}
	for s, n := range d {
		reasons[s.Why] += n
	}
	return reasons
}

// Meter is a meter with the owner of its newest key, and its counters.
type Meter struct {
	ID, User, Plan, Name string
	Counts               usage.Counts
}

// Row is one tool of one meter.
type Row struct {
	Meter, User, Plan, Name string
	// Tool is an operation's ID, NotInLog or NotCounted.
	Tool string
	// Charged units, of which Refunded were given back; Denied calls.
	Charged, Refunded, Denied int64
	// Share of the bill, in ten-thousandths of a percent.
	Share int64
	// Cents of the bill.
	Cents int64
}

// Prices weigh calls against each other; only their ratios matter.
type Prices struct {
	Admitted, Failed, Denied *big.Rat
	// Units of a call by operation, 1 if missing.
	Units map[string]int64
}

// Decimals of Row.Share, and what all shares add up to: 100 %.
const (
	ShareDecimals = 4
	wholeShare    = 100
)

// Sheet is a month split by meter and tool.
type Sheet struct {
	Rows []Row
	// Strangers is how many denied calls in the log belong to meters that aren't in the store.
	Strangers int64
	// Unshared means that there were no calls to split the bill by.
	Unshared bool
	// Weight in USD is what all these calls cost by the prices.
	Weight *big.Rat
}

// Split makes the rows of all meters, sorted by user, meter and tool. bill is in USD; it is
// split into whole cents that add up to it.
func Split(meters []Meter, denials Denials, prices Prices, bill *big.Rat) Sheet {
	byMeter := map[string]map[string]int64{}
	for s, n := range denials {
		if s.Why == problem.Throttled { // which no meter counts
			continue
		}
		if byMeter[s.Meter] == nil {
			byMeter[s.Meter] = map[string]int64{}
		}
		byMeter[s.Meter][s.Operation] += n
	}
	var sheet Sheet
	for _, m := range meters {
		sheet.Rows = append(sheet.Rows, m.rows(byMeter[m.ID])...)
		delete(byMeter, m.ID)
	}
	for _, operations := range byMeter {
		for _, n := range operations {
			sheet.Strangers += n
		}
	}
	slices.SortFunc(sheet.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Meter, b.Meter), cmp.Compare(a.Tool, b.Tool))
	})
	sheet.share(prices, bill)
	return sheet
}

// rows makes a row for each tool, and one for what no tool accounts for.
func (m Meter) rows(denied map[string]int64) []Row {
	tools := slices.Collect(maps.Keys(m.Counts.Operations))
	tools = slices.AppendSeq(tools, maps.Keys(denied))
	slices.Sort(tools)
	var rows []Row
	rest := Row{Charged: m.Counts.Used + m.Counts.Refunded, Refunded: m.Counts.Refunded, Denied: m.Counts.Denied}
	for _, tool := range slices.Compact(tools) {
		o := m.Counts.Operations[tool]
		r := Row{Tool: tool, Charged: o.Charged, Refunded: o.Refunded, Denied: denied[tool]}
		rest.Charged -= r.Charged
		rest.Refunded -= r.Refunded
		rest.Denied -= r.Denied
		if r.Charged != 0 || r.Refunded != 0 || r.Denied != 0 {
			rows = append(rows, r)
		}
	}
	if rest != (Row{}) {
		rest.Tool = NotInLog
		if rest.Denied < 0 {
			rest.Tool = NotCounted
		}
		rows = append(rows, rest)
	}
	for i := range rows {
		rows[i].Meter, rows[i].User, rows[i].Plan, rows[i].Name = m.ID, m.User, m.Plan, m.Name
	}
	return rows
}

func (s *Sheet) share(prices Prices, bill *big.Rat) {
	weights := make([]*big.Rat, len(s.Rows))
	sum := new(big.Rat)
	for i, r := range s.Rows {
		weights[i] = r.weight(prices)
		sum.Add(sum, weights[i])
	}
	s.Weight, s.Unshared = sum, sum.Sign() == 0
	shares := cost.Shares(big.NewRat(wholeShare, 1), weights, ShareDecimals)
	cents := cost.Shares(bill, weights, 2)
	for i := range s.Rows {
		s.Rows[i].Share, s.Rows[i].Cents = shares[i], cents[i]
	}
}

// weight is what a row's calls cost. A negative correction weighs nothing, because the calls
// that it corrects were logged, so they did happen.
func (r Row) weight(p Prices) *big.Rat {
	units := max(1, p.Units[r.Tool])
	times := func(n int64, usd *big.Rat, per int64) *big.Rat {
		return new(big.Rat).Mul(big.NewRat(max(0, n), per), usd)
	}
	w := times(r.Charged-r.Refunded, p.Admitted, units)
	w.Add(w, times(r.Refunded, p.Failed, units))
	return w.Add(w, times(r.Denied, p.Denied, 1))
}
