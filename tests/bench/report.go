package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Report is the parts that were measured, maybe at different times.
type Report struct {
	Parts []*Part `json:"parts"`
}

// Part is what one `make bench BENCH=name` measures.
type Part struct {
	Name    string   `json:"name"`
	Commit  string   `json:"commit"`
	Date    string   `json:"date"`
	Machine string   `json:"machine"`
	Rounds  string   `json:"rounds"`
	Seconds float64  `json:"seconds"`
	Tables  []*Table `json:"tables"`
}

// Table starts a table of the part.
func (p *Part) Table(name, title string, columns ...string) *Table {
	t := &Table{Name: name, Title: title, Columns: columns}
	p.Tables = append(p.Tables, t)
	return t
}

// Read reads a report. A file that isn't there is an empty one.
func Read(path string) (Report, error) {
	var r Report
	raw, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return r, fmt.Errorf("report %s: %w", path, err)
	}
	return r, nil
}

// Write writes it as JSON, one part a line.
func (r Report) Write(path string) error {
	var b strings.Builder
	b.WriteString("{\"parts\": [\n")
	for i, p := range r.Parts {
		line, err := json.Marshal(p)
		if err != nil {
			return err
		}
		b.Write(line)
		if i < len(r.Parts)-1 {
			b.WriteString(",")
		}
		b.WriteString("\n")
	}
	b.WriteString("]}\n")
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// Replace puts the parts of another report into the places of its own.
func (r *Report) Replace(by Report, order []string) {
	for _, p := range by.Parts {
		r.Parts = append(slices.DeleteFunc(r.Parts, func(old *Part) bool { return old.Name == p.Name }), p)
	}
	slices.SortFunc(r.Parts, func(a, b *Part) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
}

func (r Report) table(name string) *Table {
	for _, p := range r.Parts {
		for _, t := range p.Tables {
			if t.Name == name {
				return t
			}
		}
	}
	return nil
}

func earlier(before *Table, row, column string) (float64, bool) {
	if before == nil {
		return 0, false
	}
	c, ok := before.Cell(row, column)
	if !ok || len(c.Values) == 0 {
		return 0, false
	}
	_, median, _ := c.Spread()
	return median, true
}

// Markdown writes the aims, and then every table with what an earlier run had beside it.
func (r Report) Markdown(before Report) (string, error) {
	verdicts := map[string][]Verdict{}
	var b strings.Builder
	b.WriteString("## Aims\n\n| | measured | before | aim | |\n|---|---:|---:|---:|---|\n")
	for _, a := range Aims {
		t := r.table(a.Table)
		if t == nil {
			continue
		}
		v, err := a.judge(t, before.table(a.Table))
		if err != nil {
			return "", err
		}
		verdicts[a.Table] = append(verdicts[a.Table], v)
		was := "–"
		if m, ok := earlier(before.table(a.Table), a.Row, a.Column); ok {
			was = Number(m)
		}
		fmt.Fprintf(&b, "| %s: %s, %s | %s | %s | %s | %s |\n", a.Table, a.Row, a.Column, v.Cell, was, v.Wanted, v)
	}
	for _, p := range r.Parts {
		fmt.Fprintf(&b, "\n## %s\n\n`make bench BENCH=%s`: %s, commit %s, %s; %s, %.0f s.\n", p.Name, p.Name, p.Date, p.Commit, p.Machine, p.Rounds, p.Seconds)
		for _, t := range p.Tables {
			b.WriteString(t.markdown(before.table(t.Name), verdicts[t.Name]))
		}
	}
	return b.String(), nil
}

func (t *Table) markdown(before *Table, verdicts []Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| |", t.Name, t.Title)
	for _, c := range t.Columns {
		fmt.Fprintf(&b, " %s |", c)
	}
	if len(verdicts) > 0 {
		b.WriteString(" aim |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(t.Columns)))
	if len(verdicts) > 0 {
		b.WriteString("---|")
	}
	b.WriteString("\n")
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |", row.Name)
		for _, column := range t.Columns {
			text := row.Cells[column].String()
			if was, ok := earlier(before, row.Name, column); ok && Number(was) != text {
				text += ", was " + Number(was)
			}
			fmt.Fprintf(&b, " %s |", text)
		}
		if len(verdicts) > 0 {
			fmt.Fprintf(&b, " %s |", aimsOf(row.Name, verdicts))
		}
		b.WriteString("\n")
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	return b.String()
}

func aimsOf(row string, verdicts []Verdict) string {
	var aims []string
	for _, v := range verdicts {
		if v.Row == row {
			aims = append(aims, fmt.Sprintf("%s %s: %s", v.Column, v.Wanted, v))
		}
	}
	return strings.Join(aims, "; ")
}

// String is the median, with the least and the greatest value where they differ.
func (c Cell) String() string {
	if len(c.Values) == 0 {
		return c.Text
	}
	least, median, most := c.Spread()
	if Number(least) == Number(most) {
		return Number(median)
	}
	return fmt.Sprintf("%s (%s–%s)", Number(median), Number(least), Number(most))
}

// Number has three digits, and all of those before the point.
func Number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1000 || math.Abs(v) >= 100 {
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	decimals := 2
	if math.Abs(v) >= 10 {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
