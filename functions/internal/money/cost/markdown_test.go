package cost

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes the README's tables: a month idle, with 100 thousand calls and with a million, a
// tenth of them denied, by topology and beside AgentCore; and a million calls of each kind.
func Markdown(w io.Writer, m Model, idle []Line, report func(calls, denied string, via Via) *Report) error {
	type column struct {
		title string
		lines []Line
	}
	million := func(via Via) *Report { return report("1000000", "100000", via) }
	columns := []column{{"idle", report("0", "0", MCP).Lines}, {"100,000 calls, proxy", report("100000", "10000", MCP).Lines}}
	for _, via := range Topologies {
		_, name := via.Split()
		columns = append(columns, column{"a million, " + name, million(via).Lines})
	}
	for i := range columns {
		columns[i].lines = append(columns[i].lines, idle...)
	}
	for _, a := range million(MCP).Alternatives {
		if a.Name == "AgentCore Gateway" {
			columns = append(columns, column{"a million, " + a.Name, a.Lines})
		}
	}

	names := []string{"AgentCore"}
	for _, l := range columns[0].lines {
		names = append(names, l.Name)
	}
	cells, totals := map[string][]string{}, []string{}
	var b strings.Builder
	b.WriteString("| USD a month |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
		amounts, total, _ := roundedTo(c.lines, 2)
		for _, name := range names {
			cell := ""
			for j, l := range c.lines {
				if l.Name == name {
					cell = fixed(amounts[j], 2)
				}
			}
			cells[name] = append(cells[name], cell)
		}
		totals = append(totals, "**"+fixed(total, 2)+"**")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, name := range append(names[1:], names[0]) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(cells[name], " | "))
	}
	fmt.Fprintf(&b, "| **total** | %s |\n\n| A million calls, USD |", strings.Join(totals, " | "))

	kinds := map[Via][]PerMillion{}
	for _, via := range Topologies {
		_, name := via.Split()
		fmt.Fprintf(&b, " %s |", name)
		kinds[via] = m.PerMillion(via)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(Topologies)) + "\n")
	for i, p := range kinds[MCP] {
		fmt.Fprintf(&b, "| %s |", p.Name)
		for _, via := range Topologies {
			fmt.Fprintf(&b, " %s |", kinds[via][i].USD.FloatString(2))
		}
		b.WriteString("\n")
	}
	first, later := m.Measured.Visits[FirstVisit], m.Measured.Visits[LaterVisit]
	fmt.Fprintf(&b, "\nA thousand visits of the page: %s USD the first time (%d requests each, %d KB, %d read units), later %s (%d requests).\n",
		m.Thousand(FirstVisit).FloatString(3), first.BilledRequests/first.Calls, first.AnswerBytes/first.Calls/1000, first.ReadUnits/first.Calls,
		m.Thousand(LaterVisit).FloatString(3), later.BilledRequests/later.Calls)
	signIn, tokens := m.Measured.Visits[SignIn], m.PerMillion(OAuth)
	fmt.Fprintf(&b, "At the OAuth door: a thousand sign-ins %s USD (%d requests each), a thousand renewed tokens %s, a million calls %s, with the token in memory %s.\n",
		m.Thousand(SignIn).FloatString(3), signIn.HTTPRequests/signIn.Calls, m.Thousand(Refresh).FloatString(3), tokens[0].USD.FloatString(2), tokens[1].USD.FloatString(2))
	_, err := io.WriteString(w, b.String())
	return err
}
