package cost

import (
	"math/big"

	"sekisho/functions/internal/money/price"
)

// Line is what one part of the service costs.
type Line struct {
	Name string
	// USD is exact.
	USD *big.Rat
	// Counted is the billed quantities.
	Counted []Quantity
}

// Quantity is an amount of what AWS bills.
type Quantity struct {
	Amount *big.Rat
	Unit   string
}

// Names of lines that aren't functions.
const (
	lineGateway  = "gateway"
	lineWAF      = "WAF"
	lineDynamoDB = "DynamoDB"
	lineLogs     = "logs"
	lineDataOut  = "data out"
)

// Model prices calls.
type Model struct {
	Measured *Measurement
	Prices   price.Table
	Setup    Setup
}

// needs are the billed quantities of a number of calls.
type needs struct {
	requests, httpRequests, reads, writes, logBytes, answerBytes *big.Rat
	invocations, gbSeconds                                       map[string]*big.Rat
}

func newNeeds() *needs {
	n := &needs{
		requests: new(big.Rat), httpRequests: new(big.Rat), reads: new(big.Rat), writes: new(big.Rat), logBytes: new(big.Rat), answerBytes: new(big.Rat),
		invocations: map[string]*big.Rat{}, gbSeconds: map[string]*big.Rat{},
	}
	for _, name := range timed() {
		n.invocations[name], n.gbSeconds[name] = new(big.Rat), new(big.Rat)
	}
	return n
}

// add adds the quantities of a number of calls, or visits, scaled from measured ones. Their kind says
// how long functions run.
func (m Model) add(n *needs, c Counts, k Kind, calls *big.Rat) {
	scaled := func(to *big.Rat, total int64) {
		to.Add(to, new(big.Rat).Mul(calls, big.NewRat(total, c.Calls)))
	}
	scaled(n.requests, c.BilledRequests)
	scaled(n.httpRequests, c.HTTPRequests)
	scaled(n.reads, c.ReadUnits)
	scaled(n.writes, c.WriteUnits)
	scaled(n.logBytes, c.AccessLogBytes+c.FunctionLogBytes)
	scaled(n.answerBytes, c.AnswerBytes)
	for name, total := range c.Invocations {
		m.start(n, name, k, new(big.Rat).Mul(calls, big.NewRat(total, c.Calls)))
	}
}

// start adds invocations of a function by calls of a kind.
func (m Model) start(n *needs, function string, k Kind, times *big.Rat) {
	n.invocations[function].Add(n.invocations[function], times)
	n.gbSeconds[function].Add(n.gbSeconds[function], new(big.Rat).Mul(times, m.Setup.gbSeconds(function, k)))
}

// Lines prices a month's calls, all of them as cold. The lines add up to the total.
func (m Model) Lines(t Traffic) []Line {
	n := newNeeds()
	for _, outcome := range []Outcome{Admitted, Failed, Denied} {
		k := Kind{outcome, t.Via, Cold}
		m.add(n, m.Measured.Of(k), k, t.Number(outcome))
	}
	return m.price(n)
}

// One is what a single call of a kind costs.
func (m Model) One(k Kind) *big.Rat {
	n := newNeeds()
	m.add(n, m.Measured.Of(k), k, big.NewRat(1, 1))
	return Total(m.price(n))
}

// Thousand is what a thousand visits of the page for key holders, or of the OAuth door, cost.
func (m Model) Thousand(v Visit) *big.Rat {
	n := newNeeds()
	m.add(n, m.Measured.Visits[v], Kind{Admitted, REST, Cold}, big.NewRat(1000, 1))
	return Total(m.price(n))
}

const bytesPerGB = 1_000_000_000

func (m Model) price(n *needs) []Line {
	gb := func(bytes *big.Rat) *big.Rat { return new(big.Rat).Quo(bytes, big.NewRat(bytesPerGB, 1)) }
	lines := []Line{m.line(lineGateway, item{n.requests, "requests", price.GatewayRequest}, item{n.httpRequests, "HTTP API requests", price.HTTPRequest})}
	for _, name := range timed() {
		if name == SignInFunction && n.invocations[name].Sign() == 0 {
			continue
		}
		lines = append(lines, m.line(name,
			item{n.invocations[name], "invocations", price.LambdaRequest}, item{n.gbSeconds[name], "GB-seconds", price.LambdaGBSecond}))
	}
	if m.Setup.WAF {
		lines = append(lines, m.line(lineWAF, item{n.requests, "requests", price.WAFRequest}))
	}
	return append(lines,
		m.line(lineDynamoDB, item{n.writes, "write units", price.WriteUnit}, item{n.reads, "read units", price.ReadUnit}),
		m.line(lineLogs, item{gb(n.logBytes), "GB ingested", price.LogsIngestedGB}, item{gb(n.logBytes), "GB-months stored", price.LogsStoredGBMonth}),
		m.line(lineDataOut, item{gb(n.answerBytes), "GB", price.DataOutGB}),
	)
}

// item is a quantity with the price of its unit.
type item struct {
	amount *big.Rat
	unit   string
	key    price.Key
}

func (m Model) line(name string, items ...item) Line {
	l := Line{Name: name, USD: new(big.Rat)}
	for _, i := range items {
		l.USD.Add(l.USD, m.Prices.Cost(i.key, i.amount))
		l.Counted = append(l.Counted, Quantity{i.amount, i.unit})
	}
	return l
}

// Total is the sum of the lines.
func Total(lines []Line) *big.Rat {
	sum := new(big.Rat)
	for _, l := range lines {
		sum.Add(sum, l.USD)
	}
	return sum
}
