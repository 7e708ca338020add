package statement

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sekisho/functions/internal/money/chargeback"
)

// Most of what a table, a name and a key show; the CSV has all of it.
const (
	mostLines = 25
	mostName  = 48
	mostApps  = 3
)

// table is the month's spend by keys, users or tools.
type table struct {
	ID, Caption, First string
	Billed             bool
	Lines              []line
	Total              line
}

// line is one of them.
type line struct {
	Name string
	// Under is what else identifies it.
	Under                       []string
	Succeeded, Refunded, Denied string
	Share, USD, Before          string
	// Bar is the share in percent of the largest.
	Bar int64
}

// parts are the same rows added up in three ways.
func (s Statement) parts(t words) []table {
	key := func(r chargeback.Row) string { return r.Meter }
	user := func(r chargeback.Row) string { return r.User }
	tool := func(r chargeback.Row) string { return r.Tool }
	return []table{
		s.part(table{ID: "keys", Caption: t.ByKey, First: t.Key}, t, key, func(r chargeback.Row) (string, []string) {
			name := r.Name
			if name == "" {
				name = t.Unnamed
			}
			return name, append([]string{r.User, r.Plan, r.Meter}, s.apps(t, r.Meter)...)
		}),
		s.part(table{ID: "users", Caption: t.ByUser, First: t.User}, t, user, func(r chargeback.Row) (string, []string) { return r.User, nil }),
		s.part(table{ID: "tools", Caption: t.ByTool, First: t.Tool}, t, tool, func(r chargeback.Row) (string, []string) { return t.tool(r.Tool), nil }),
	}
}

// apps are those that are signed in with a meter's keys; a few by name.
func (s Statement) apps(t words, meter string) (texts []string) {
	for i, app := range s.Apps[meter] {
		if i == mostApps {
			return append(texts, fmt.Sprintf(t.MoreApps, len(s.Apps[meter])-i))
		}
		texts = append(texts, fmt.Sprintf(t.App, app))
	}
	return texts
}

func (s Statement) part(p table, t words, by func(chargeback.Row) string, name func(chargeback.Row) (string, []string)) table {
	before := map[string]int64{}
	var beforeAll chargeback.Sum
	if len(s.Sheets) > 1 {
		for _, sum := range s.Sheets[1].By(by) {
			before[by(sum.Row)] = sum.Succeeded()
		}
		beforeAll = s.Sheets[1].Total()
	}
	p.Billed = s.Billed
	sums := s.Sheets[0].By(by)
	shown, rest := sums, []chargeback.Sum(nil)
	if len(sums) > mostLines {
		shown, rest = sums[:mostLines-1], sums[mostLines-1:]
	}
	left := beforeAll.Succeeded()
	for _, sum := range shown {
		first, under := name(sum.Row)
		l := s.line(first, sum, before[by(sum.Row)])
		for _, text := range under {
			l.Under = append(l.Under, s.cut(text))
		}
		if largest := sums[0].Share; largest > 0 {
			l.Bar = sum.Share * 100 / largest
		}
		left -= before[by(sum.Row)]
		p.Lines = append(p.Lines, l)
	}
	switch {
	case len(rest) > 0:
		p.Lines = append(p.Lines, s.line(fmt.Sprintf(t.Others, len(rest)), chargeback.Merge(rest), left))
	case left != 0: // had calls the month before, and none in this one
		p.Lines = append(p.Lines, s.line(t.BeforeOnly, chargeback.Sum{}, left))
	}
	p.Total = s.line(t.Total, s.Sheets[0].Total(), beforeAll.Succeeded())
	return p
}

func (s Statement) line(name string, sum chargeback.Sum, before int64) line {
	return line{
		Name: s.cut(name), Succeeded: decimal(sum.Succeeded(), 0), Refunded: decimal(sum.Refunded, 0), Denied: decimal(sum.Denied, 0),
		Share: decimal(tenths(sum.Share), 1) + " %", USD: decimal(sum.Cents, 2), Before: decimal(before, 0),
	}
}

// tenths rounds a share to tenths of a percent.
func tenths(share int64) int64 {
	const unit = 1000 // ten-thousandths of a percent in a tenth
	return (share + unit/2) / unit
}

// cut makes a name printable, and short enough for a table.
func (s Statement) cut(name string) string {
	name = s.Show(name)
	if utf8.RuneCountInString(name) <= mostName {
		return name
	}
	return string([]rune(name)[:mostName-1]) + "…"
}

// months are side by side, the newest first.
type months struct {
	Lines []monthLine
	// Most is the width of the widest bar, in calls.
	Most int64
}

type monthLine struct {
	Month                                 string
	Succeeded, Refunded, Denied, Estimate string
	// Bars has the widths of what succeeded, was refunded and was denied, and where each starts,
	// in thousandths.
	Bars [3]bar
}

type bar struct {
	Class     string
	At, Width int64
}

// months leaves out those before the first that has calls.
func (s Statement) months(t words) (m months) {
	var totals []chargeback.Sum
	last := 0
	for i, sheet := range s.Sheets {
		total := sheet.Total()
		totals = append(totals, total)
		m.Most = max(m.Most, total.Charged+max(0, total.Denied))
		if total.Rows > 0 {
			last = i
		}
	}
	for i, total := range totals[:last+1] {
		l := monthLine{
			Month: s.Month.Before(i).String(), Succeeded: decimal(total.Succeeded(), 0), Refunded: decimal(total.Refunded, 0),
			Denied: decimal(total.Denied, 0), Estimate: estimate(s.Sheets[i]),
		}
		at := int64(0)
		for b, n := range []int64{total.Succeeded(), total.Refunded, max(0, total.Denied)} {
			width := n * 1000 / max(1, m.Most)
			l.Bars[b] = bar{[]string{"ok", "back", "no"}[b], at, width}
			at += width
		}
		m.Lines = append(m.Lines, l)
	}
	return m
}

// decimal writes n, which counts units of the last decimal, with separators of thousands.
func decimal(n int64, decimals int) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	digits := fmt.Sprintf("%0*d", decimals+1, n)
	whole, rest := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if decimals > 0 {
		b.WriteString("." + rest)
	}
	return b.String()
}
