package cost

import (
	"fmt"
	"io"
	"math/big"
	"strings"
	"text/tabwriter"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	t := r.Traffic
	fmt.Fprintf(&b, "%s calls by %s in %s: %s admitted, %s failed and refunded, %s denied. Prices in USD.\n\n",
		count(t.Calls), t.Via.text(), r.Model.Prices.Region,
		count(t.Number(Admitted)), count(t.Number(Failed)), count(t.Number(Denied)))
	table := tabwriter.NewWriter(&b, 0, 4, 3, ' ', tabwriter.AlignRight)
	amounts, total, decimals := Rounded(r.Lines)
	shares := Shares(big.NewRat(100, 1), weights(r.Lines), 1)
	for i, l := range r.Lines {
		fmt.Fprintf(table, "  %s\t%s\t%s %%\t   %s\n", leftColumn(l.Name), fixed(amounts[i], decimals), fixed(shares[i], 1), counted(l))
	}
	fmt.Fprintf(table, "  %s\t%s\t%s %%\t\n", leftColumn("total"), fixed(total, decimals), fixed(sum(shares), 1))
	if err := table.Flush(); err != nil {
		return err
	}
	b.WriteString("\nA million calls, by outcome:\n\n")
	for _, p := range r.PerMillion {
		fmt.Fprintf(&b, "  %-24s %8s\n", p.Name, p.USD.FloatString(2))
	}
	b.WriteString("\nA thousand visits of the page for key holders:\n\n")
	for _, v := range Visits() {
		fmt.Fprintf(&b, "  %-24s %8s\n", v, r.Model.Thousand(v).FloatString(4))
	}
	b.WriteString("\nAt the OAuth door, a thousand times:\n\n")
	for _, v := range SignIns() {
		fmt.Fprintf(&b, "  %-24s %8s\n", v, r.Model.Thousand(v).FloatString(4))
	}
	b.WriteString("\nThe same calls, served otherwise:\n\n")
	for _, a := range r.Alternatives {
		_, total, decimals := Rounded(a.Lines)
		fmt.Fprintf(&b, "  %-24s %8s   %s\n", a.Name, fixed(total, decimals), wrap(a.Note, 38))
	}
	_, idle, _ := roundedTo(r.Idle, 2)
	fmt.Fprintf(&b, "\nPlus, every month, even without calls: %s (%s).\n\n", fixed(idle, 2), idleText(r.Idle))
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", wrap(note, 2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text is the way in, for people.
func (v Via) text() string {
	way, topology := v.Split()
	if topology == "" {
		return strings.ToUpper(way)
	}
	return strings.ToUpper(way) + " (" + topology + ")"
}

// leftColumn pads a name to align it left, since the tabwriter aligns right.
func leftColumn(name string) string { return fmt.Sprintf("%-10s", name) }

func idleText(lines []Line) string {
	var parts []string
	for _, l := range lines {
		parts = append(parts, counted(l)+" "+l.USD.FloatString(2))
	}
	return strings.Join(parts, ", ")
}

// Rounded rounds lines to cents, or to millionths of a dollar if their total is below one.
func Rounded(lines []Line) (amounts []int64, total int64, decimals int) {
	decimals = 2
	if Total(lines).Cmp(big.NewRat(1, 1)) < 0 {
		decimals = 6
	}
	return roundedTo(lines, decimals)
}

func roundedTo(lines []Line, decimals int) ([]int64, int64, int) {
	amounts, total := Apportion(weights(lines), decimals)
	return amounts, total, decimals
}

func weights(lines []Line) (all []*big.Rat) {
	for _, l := range lines {
		all = append(all, l.USD)
	}
	return all
}

func sum(ns []int64) (total int64) {
	for _, n := range ns {
		total += n
	}
	return total
}

// fixed writes n, which counts units of the last decimal. There must be at least one decimal.
func fixed(n int64, decimals int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	digits := fmt.Sprintf("%0*d", decimals+1, n)
	return sign + digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
}

func counted(l Line) string {
	var parts []string
	for _, q := range l.Counted {
		if q.Amount.Sign() > 0 {
			parts = append(parts, count(q.Amount)+" "+q.Unit)
		}
	}
	return strings.Join(parts, ", ")
}

// count writes an amount with thousands separators, and decimals if it is small.
func count(n *big.Rat) string {
	decimals := 0
	if !n.IsInt() {
		switch abs := new(big.Rat).Abs(n); {
		case abs.Cmp(big.NewRat(1, 1)) < 0:
			decimals = 4
		case abs.Cmp(big.NewRat(1000, 1)) < 0:
			decimals = 2
		}
	}
	whole, rest, _ := strings.Cut(n.FloatString(decimals), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest = strings.TrimRight(rest, "0"); rest != "" {
		whole += "." + rest
	}
	return whole
}

const width = 100

// wrap breaks text into lines, indented to column.
func wrap(text string, column int) string {
	var b strings.Builder
	at := column
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteString("\n" + strings.Repeat(" ", column))
			at = column
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
