package cost

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the README's table: a month with no calls, 100 thousand and a million, a
// tenth of them denied.
func Markdown(w io.Writer, report func(calls, denied string) *Report) error {
	columns := []*Report{report("0", "0"), report("100000", "10000"), report("1000000", "100000")}
	var b strings.Builder
	b.WriteString("| USD a month | idle | 100,000 calls | 1,000,000 calls |\n|---|---:|---:|---:|\n")
	totals := make([]int64, len(columns))
	rows := map[string][]string{}
	var names []string
	add := func(column int, lines []Line) {
		amounts, total, _ := roundedTo(lines, 2)
		totals[column] += total
		for i, l := range lines {
			if column == 0 {
				names = append(names, l.Name)
			}
			rows[l.Name] = append(rows[l.Name], fixed(amounts[i], 2))
		}
	}
	for i, r := range columns {
		add(i, r.Lines)
		add(i, r.Idle)
	}
	for _, name := range names {
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(rows[name], " | "))
	}
	cells := make([]string, len(totals))
	for i, n := range totals {
		cells[i] = "**" + fixed(n, 2) + "**"
	}
	fmt.Fprintf(&b, "| **total** | %s |\n", strings.Join(cells, " | "))
	model := columns[0].Model
	first, later := model.Measured.Visits[FirstVisit], model.Measured.Visits[LaterVisit]
	fmt.Fprintf(&b, "\nA thousand visits of the page: %s USD the first time (%d requests each, %d KB, %d read units), later %s (%d requests).\n",
		model.Thousand(FirstVisit).FloatString(3), first.BilledRequests/first.Calls, first.AnswerBytes/first.Calls/1000, first.ReadUnits/first.Calls,
		model.Thousand(LaterVisit).FloatString(3), later.BilledRequests/later.Calls)
	_, err := io.WriteString(w, b.String())
	return err
}
