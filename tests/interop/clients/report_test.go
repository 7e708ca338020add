//go:build interop

package clients

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// report collects what becomes the two files of testdata.
type report struct {
	mu       sync.Mutex
	cells    map[string]map[string]string // row, step
	displays map[string]map[string]string // what, row
}

func newReport() *report {
	return &report{cells: map[string]map[string]string{}, displays: map[string]map[string]string{}}
}

func (r *report) cell(of row, step, text string) { r.set(r.cells, of.label(), step, text) }

func (r *report) display(what string, by row, text string) {
	r.set(r.displays, what, by.label(), masked(text))
}

func (r *report) set(in map[string]map[string]string, first, second, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in[first] == nil {
		in[first] = map[string]string{}
	}
	in[first][second] = text
}

// masks take out what differs from run to run.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`("error":"limit_exceeded".*"retryAfterMs":)\d+`), `$1…`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), `…-01T00:00:00.000Z`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), `127.0.0.1:…`},
	{regexp.MustCompile(`"id":("[^"]*"|\d+)`), `"id":…`},
}

func masked(text string) string {
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.with)
	}
	return text
}

// matrix is a line for each row and a column for each step.
func (r *report) matrix(rows []row) string {
	columns := []string{}
	for _, s := range steps {
		columns = append(columns, s.name)
	}
	return "# Clients, protocol versions and steps\n\nWritten by the test with `-update`; what is in a cell has been checked, word by word.\n\n" +
		r.table(rows, append(columns, braked)) + "\n" + legend
}

func (r *report) table(rows []row, columns []string) string {
	var b strings.Builder
	b.WriteString("| Client | Mode | Protocol | " + strings.Join(columns, " | ") + " |\n|---|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |", row.name, row.mode, row.protocol)
		for _, column := range columns {
			fmt.Fprintf(&b, " %s |", cmp.Or(r.cells[row.label()][column], "**fails**"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

const legend = `- progress: "not shown" where the program has no place for it.
- no key, may log in: for clients that look for OAuth where they are configured to. The Inspector and mcp-remote always do, the Go clients were not.
- list kept: how long the client goes on showing a list of tools that has changed, which the server allows for 30 s. A tool that is off is refused at once all the same.
- braked: how much the client shows of why nothing runs. The function that speaks MCP is stopped as well, and API Gateway's answer is no JSON-RPC message.
`

// quotes is what the clients display, each text once.
func (r *report) quotes(rows []row) string {
	var b strings.Builder
	b.WriteString("# What each client displays\n\nWritten by the test with `-update`. An ellipsis stands for what differs from run to run.\n")
	for _, what := range slices.Sorted(maps.Keys(r.displays)) {
		fmt.Fprintf(&b, "\n## %s\n", what)
		var texts []string
		by := map[string][]string{}
		for _, row := range rows {
			text, ok := r.displays[what][row.label()]
			if !ok {
				continue
			}
			if by[text] == nil {
				texts = append(texts, text)
			}
			by[text] = append(by[text], row.label())
		}
		for _, text := range texts {
			fmt.Fprintf(&b, "\n%s:\n\n```\n%s\n```\n", strings.Join(by[text], "; "), text)
		}
	}
	return b.String()
}

// compare holds the report against testdata, unless only some of the clients were asked for.
func (r *report) compare(t *testing.T, rows []row) {
	if len(r.cells) < len(rows) && !t.Failed() {
		t.Logf("%d of %d clients ran: testdata is not compared", len(r.cells), len(rows))
		return
	}
	files := map[string]string{"matrix.md": r.matrix(rows), "displays.md": r.quotes(rows)}
	if !served.isDefault() {
		files = differences(t, files)
	}
	for name, got := range files {
		compareTo(t, name, got)
	}
}

// compareTo holds a text against a file of testdata.
func compareTo(t *testing.T, name, got string) {
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := golden(t, name)
	for _, line := range onlyIn(want, got) {
		t.Errorf("%s: missing: %s", file, line)
	}
	for _, line := range onlyIn(got, want) {
		t.Errorf("%s: new: %s", file, line)
	}
}

func golden(t *testing.T, name string) string {
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// differences is one file with the lines that the default topology's do not have.
func differences(t *testing.T, files map[string]string) map[string]string {
	var b strings.Builder
	fmt.Fprintf(&b, "# What is different with %s\n\nWritten by the test with `-update -topology %s`: lines that matrix.md and displays.md do not have.\n", served.String(), served.String())
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		for _, line := range onlyIn(files[name], golden(t, name)) {
			b.WriteString(line + "\n")
		}
	}
	return map[string]string{served.dispatch + "-" + served.door + ".md": b.String()}
}

// onlyIn lists the lines of a that b lacks.
func onlyIn(a, b string) []string {
	other := strings.Split(b, "\n")
	return slices.DeleteFunc(strings.Split(a, "\n"), func(line string) bool { return slices.Contains(other, line) })
}
