package bench

import (
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestRatiosAreOfTheSameRound: a slow round is slow for all, and leaves the ratio alone.
func TestRatiosAreOfTheSameRound(t *testing.T) {
	slow, table := 0.0, Table{Name: "x"}
	variant := func(name string, cost float64) Variant {
		return Variant{name, func() (map[string]float64, error) { slow++; return map[string]float64{CPU: cost}, nil }}
	}
	if err := table.Interleave(io.Discard, 3, []Variant{variant("bare", 10), variant("ours", 12)}, Ratio{"÷ bare", CPU, "bare"}); err != nil {
		t.Fatal(err)
	}
	if slow != 6 {
		t.Errorf("%v measurements, want 6", slow)
	}
	table.row("bare").Cells[CPU] = Cell{Values: []float64{10, 100, 20}}
	table.row("ours").Cells[CPU] = Cell{Values: []float64{20, 200, 60}}
	table.row("ours").Cells["÷ bare"] = Cell{}
	table.Divide(Ratio{"÷ bare", CPU, "bare"}, "ours")
	if got, _ := table.Cell("ours", "÷ bare"); got.String() != "2 (2–3)" {
		t.Errorf("the ratio is %s", got)
	}
}

func TestNumbers(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 1: "1", 0.296: "0.30", 1.374: "1.37", 23.45: "23.4", 325217: "325,217", 999.6: "1,000", -1234: "-1,234"} {
		if got := Number(value); got != want {
			t.Errorf("%v is written %s, want %s", value, got, want)
		}
	}
}

// TestAims: the verdict goes by the median; one that a row no longer answers to fails.
func TestAims(t *testing.T) {
	table := &Table{Name: "t", Rows: []*Row{
		{Name: "ours", Cells: map[string]Cell{"ms": {Values: []float64{9, 1, 5}}}},
		{Name: "theirs", Cells: map[string]Cell{"ms": {Values: []float64{4}}}},
	}}
	before := &Table{Rows: []*Row{{Name: "ours", Cells: map[string]Cell{"ms": {Values: []float64{4}}}}}}
	for _, c := range []struct {
		aim    Aim
		before *Table
		want   string
	}{
		{Aim{Row: "ours", Column: "ms", AtMost: 5}, nil, "met"},
		{Aim{Row: "ours", Column: "ms", AtMost: 4.9}, nil, "**missed**"},
		{Aim{Row: "ours", Column: "ms", NoMoreThan: "theirs"}, nil, "**missed**"},
		{Aim{Row: "theirs", Column: "ms", NoMoreThan: "ours"}, nil, "met"},
		{Aim{Row: "ours", Column: "ms", TimesBefore: 1.3}, nil, "no earlier run"},
		{Aim{Row: "ours", Column: "ms", TimesBefore: 1.3}, before, "**missed**"},
		{Aim{Row: "ours", Column: "ms", TimesBefore: 1.2}, before, "met"},
		{Aim{Row: "ours", Column: "ms", AtMostBefore: 1.2}, nil, "no earlier run"},
		{Aim{Row: "ours", Column: "ms", AtMostBefore: 1.2}, before, "**missed**"},
		{Aim{Row: "ours", Column: "ms", AtMostBefore: 1.3}, before, "met"},
	} {
		if v, err := c.aim.judge(table, c.before); err != nil || v.String() != c.want {
			t.Errorf("%+v: %s, %v; want %s", c.aim, v, err, c.want)
		}
	}
	for _, a := range []Aim{{Row: "gone", Column: "ms"}, {Row: "ours", Column: "gone"}, {Row: "ours", Column: "ms", NoMoreThan: "gone"}} {
		if _, err := a.judge(table, nil); err == nil {
			t.Errorf("%+v finds something", a)
		}
	}
}

// TestReport: what is written is read again; a part that is measured anew replaces the old one, and
// the table shows what was before.
func TestReport(t *testing.T) {
	part := func(name string, ms float64) *Part {
		p := &Part{Name: name, Commit: "abc"}
		p.Table("table of "+name, "How long it takes.", "ms").Add("ours", "ms", ms)
		return p
	}
	old := Report{Parts: []*Part{part("one", 1), part("two", 2)}}
	path := filepath.Join(t.TempDir(), "report.json")
	if err := old.Write(path); err != nil {
		t.Fatal(err)
	}
	now, err := Read(path)
	if err != nil || !reflect.DeepEqual(now, old) {
		t.Fatalf("%+v, %v", now, err)
	}
	now.Replace(Report{Parts: []*Part{part("one", 3)}}, []string{"one", "two"})
	text, err := now.Markdown(old)
	if err != nil || !strings.Contains(text, "| ours | 3, was 1 |\n") || !strings.Contains(text, "| ours | 2 |\n") || strings.Index(text, "## one") > strings.Index(text, "## two") {
		t.Errorf("%s, %v", text, err)
	}
	if nothing, err := Read(path + "-absent"); err != nil || nothing.Parts != nil {
		t.Errorf("%+v, %v", nothing, err)
	}
}
