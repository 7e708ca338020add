package bench

import "fmt"

// Aim is what a cell should reach. One of the bounds is set.
type Aim struct {
	Table, Row, Column string
	// AtMost bounds the median.
	AtMost float64
	// NoMoreThan is the row whose median in the same column must not be exceeded.
	NoMoreThan string
	// TimesBefore is how many times the earlier run's median is asked for.
	TimesBefore float64
	// AtMostBefore is how many times the earlier run's median is allowed.
	AtMostBefore float64
}

// Aims are all that a run is held against. One that names no cell of a table that was measured fails
// the run, so that renaming a row can't silence it.
var Aims = []Aim{
	// One write and no read for a call that is admitted, nothing for what needs no store.
	{Table: trips, Row: "REST, admitted", Column: "reads", AtMost: 0},
	{Table: trips, Row: "REST, admitted", Column: "writes", AtMost: 1},
	{Table: trips, Row: "REST, no limit", Column: "writes", AtMost: 1},
	{Table: trips, Row: "REST, denied again", Column: "requests", AtMost: 0},
	{Table: trips, Row: "REST, malformed key", Column: "requests", AtMost: 0},
	{Table: trips, Row: "REST, unknown key again", Column: "requests", AtMost: 0},
	{Table: trips, Row: "REST, health", Column: "requests", AtMost: 0},
	{Table: trips, Row: "MCP proxy, tools/call admitted", Column: "reads", AtMost: 0},
	{Table: trips, Row: "MCP proxy, tools/call admitted", Column: "writes", AtMost: 1},
	{Table: trips, Row: "MCP direct, tools/call admitted", Column: "reads", AtMost: 0},
	{Table: trips, Row: "MCP direct, tools/call admitted", Column: "writes", AtMost: 1},
	{Table: trips, Row: "MCP proxy, tools/list", Column: "requests", AtMost: 0},
	{Table: trips, Row: "MCP proxy, tools/call admitted", Column: "log B", AtMost: 450},

	{Table: "authorizer in process", Row: "authorizer", Column: "÷ bare", AtMost: 1.25},

	{Table: "mcp tools/call 2025-11-25, deployed", Row: "sekisho", Column: "÷ bare SDK", AtMost: 0.30},
	{Table: "mcp tools/call 2025-11-25, deployed", Row: "sekisho", Column: CPU, NoMoreThan: "mcp-go"},
	{Table: "mcp tools/call 2025-11-25, deployed", Row: "sekisho", Column: Bytes, AtMost: 30_000},
	{Table: "mcp tools/list 2025-11-25, deployed", Row: "sekisho", Column: "÷ bare SDK", AtMost: 0.30},

	{Table: "warm processes", Row: "authorizer", Column: "CPU ms", AtMostBefore: 0.6},
	{Table: "warm processes", Row: "mcp, largest answers", Column: "peak MB", AtMost: 256},

	{Table: "cold starts", Row: "authorizer", Column: "÷ empty Go", AtMost: 1.9},
	{Table: "cold starts", Row: "mcp", Column: "÷ empty Go", AtMost: 2.8},
	{Table: "cold starts, TLS and Lambda's share of CPU", Row: "authorizer", Column: "event → answer ms", AtMost: 25},

	{Table: "laptop", Row: "REST, 64 clients, 10 keys, 100 rows", Column: "p99 ms", AtMost: 50},
	{Table: "laptop", Row: "REST, 64 clients, 10 keys, 100 rows", Column: "calls/s", TimesBefore: 1.3},

	{Table: races, Row: "sekisho", Column: "over the limit", AtMost: 0},
	{Table: races, Row: "sekisho", Column: "writes per decision", AtMost: 1},
}

// Names of tables that the list above has often.
const (
	trips = "store round trips"
	races = "limiters in a race"
)

// Verdict is an aim beside what was measured.
type Verdict struct {
	Aim
	Cell   Cell
	Wanted string
	// Open says why there is no verdict; "" where there is one.
	Open string
	Met  bool
}

// judge holds one aim against a table and that of an earlier run, which may be nil.
func (a Aim) judge(t, before *Table) (Verdict, error) {
	v := Verdict{Aim: a}
	cell, ok := t.Cell(a.Row, a.Column)
	if !ok || len(cell.Values) == 0 {
		return v, fmt.Errorf("the aim for %q, %q, column %q, names nothing that was measured", a.Table, a.Row, a.Column)
	}
	v.Cell = cell
	_, median, _ := cell.Spread()
	switch {
	case a.NoMoreThan != "":
		other, ok := t.Cell(a.NoMoreThan, a.Column)
		if !ok {
			return v, fmt.Errorf("the aim for %q, %q compares with %q, which was not measured", a.Table, a.Row, a.NoMoreThan)
		}
		_, most, _ := other.Spread()
		v.Wanted, v.Met = "≤ "+a.NoMoreThan+"'s "+Number(most), median <= most
	case a.TimesBefore != 0, a.AtMostBefore != 0:
		v.Wanted = "≥ " + Number(a.TimesBefore) + " × before"
		if a.AtMostBefore != 0 {
			v.Wanted = "≤ " + Number(a.AtMostBefore) + " × before"
		}
		was, ok := earlier(before, a.Row, a.Column)
		if !ok {
			v.Open = "no earlier run"
			break
		}
		v.Met = median >= a.TimesBefore*was && (a.AtMostBefore == 0 || median <= a.AtMostBefore*was)
	default:
		v.Wanted, v.Met = "≤ "+Number(a.AtMost), median <= a.AtMost
	}
	return v, nil
}

func (v Verdict) String() string {
	switch {
	case v.Open != "":
		return v.Open
	case v.Met:
		return "met"
	}
	return "**missed**"
}
