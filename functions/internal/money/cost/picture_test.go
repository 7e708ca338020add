package cost_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"sekisho/functions/internal/money/cost"
)

// The README's picture and table show these calls.
const (
	exampleCalls  = "1000000"
	exampleDenied = "100000"
)

// TestPicture: cost.svg is what the command draws, and is well-formed.
func TestPicture(t *testing.T) {
	var got bytes.Buffer
	if err := report(t, exampleCalls, exampleDenied).SVG(&got); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(got.Bytes())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
	}
	same(t, "cost.svg", got.Bytes())
	var none bytes.Buffer
	if err := report(t, "0", "").SVG(&none); err != nil || strings.Contains(none.String(), "NaN") {
		t.Errorf("a picture of nothing: %v %s", err, none.String())
	}
}

// same compares a file with what it should hold, or writes it with -update.
func same(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what it is made from; run make generate", path)
	}
}

// TestREADMEFigures: the README's cost figures are the model's, in its tables of costs and of topologies.
func TestREADMEFigures(t *testing.T) {
	const path, begin, end = "../../../../README.md", "<!-- cost: made by make generate -->\n", "<!-- end of cost -->"
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md has no section between %q and %q", begin, end)
	}
	var table strings.Builder
	idle, err := cost.IdleStack()
	if err != nil {
		t.Fatal(err)
	}
	m := model(t)
	err = cost.Markdown(&table, m, m.Idle(idle), func(calls, denied string, via cost.Via) *cost.Report {
		return m.Report(traffic(t, calls, denied, "", via), idle)
	})
	if err != nil {
		t.Fatal(err)
	}
	row := "| a million calls |"
	for _, via := range cost.Topologies {
		row += " " + m.PerMillion(via)[0].USD.FloatString(2) + " USD |"
	}
	if !millionRow.MatchString(after) {
		t.Fatal("README.md has no row of the topologies' prices")
	}
	same(t, path, []byte(before+begin+table.String()+end+millionRow.ReplaceAllString(after, row)))
}

// millionRow is what a million calls cost, in the README's table of the topologies.
var millionRow = regexp.MustCompile(`(?m)^\| a million calls \|.*$`)
