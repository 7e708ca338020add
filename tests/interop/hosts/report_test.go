//go:build interop

package hosts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// talk is what came of a conversation.
type talk struct {
	outcomes []outcome
	// listed is what the service lists.
	listed   map[string]listedTool
	protocol string
}

// report collects what becomes hosts.md and testdata.
type report struct {
	mu    sync.Mutex
	lines map[string]map[string]string // host, column of the first table
	cells map[string]map[string]string // host, scenario
	words map[string]map[string]string // host, scenario
}

func newReport() *report {
	return &report{lines: map[string]map[string]string{}, cells: map[string]map[string]string{}, words: map[string]map[string]string{}}
}

func (r *report) set(in map[string]map[string]string, host, what, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in[host] == nil {
		in[host] = map[string]string{}
	}
	in[host][what] = text
}

// columns of the first table.
var columns = []string{"Version", "Protocol", "A tool's name", "Descriptions", "Input schemas", "Tokens", "Instructions", "Titles, annotations"}

func (r *report) add(t *testing.T, h host, k talk) {
	t.Helper()
	for _, o := range k.outcomes {
		r.set(r.cells, h.id, o.name, o.cell())
		r.set(r.words, h.id, o.name, o.words())
	}
	if len(k.outcomes) == 0 || k.outcomes[0].name != conversations[0].scenarios[0].name {
		return
	}
	version, err := shared.packages.Version(h.pkg)
	if err != nil {
		t.Fatal(err)
	}
	first := k.outcomes[0]
	r.set(r.lines, h.id, "Version", version)
	r.set(r.lines, h.id, "Protocol", k.protocol)
	for column, text := range first.list(k.listed) {
		r.set(r.lines, h.id, column, text)
	}
}

// list is what the model is given of the list of tools.
func (o outcome) list(listed map[string]listedTool) map[string]string {
	cells := map[string]string{
		"Instructions":        arrives(strings.Contains(o.request, "Calls of counted tools take units")),
		"Titles, annotations": arrives(strings.Contains(o.request, listed[probe].Title) || strings.Contains(o.request, "readOnlyHint")),
	}
	if find(o.offered, probe).Name == "" {
		cells["A tool's name"] = named(asked{raw: o.request}, probe) + ", in a text; called through " + bridge
		cells["Descriptions"], cells["Input schemas"], cells["Tokens"] = cutInText(o.request, listed), "none", "–"
		return cells
	}
	var descriptions, schemas []string
	size := 0
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		got := find(o.offered, name)
		if got.Name == "" {
			descriptions = append(descriptions, name+" is missing")
			continue
		}
		if got.Description != listed[name].Description {
			descriptions = append(descriptions, "other words")
		}
		schemas = append(schemas, differences(listed[name].InputSchema, got.Schema)...)
		size += len(got.Name) + len(got.Description) + len(got.Schema)
	}
	one := find(o.offered, probe)
	cells["A tool's name"] = one.Name
	if one.namespace != "" {
		cells["A tool's name"] += " in " + one.namespace
	}
	cells["Descriptions"] = cmp.Or(strings.Join(unique(descriptions), "; "), "as listed")
	cells["Input schemas"] = cmp.Or(strings.Join(unique(schemas), "; "), "as listed")
	cells["Tokens"] = fmt.Sprint(size / 4)
	return cells
}

func arrives(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// cutInText says how much of the descriptions is in a request's text.
func cutInText(request string, listed map[string]listedTool) string {
	longest := 0
	for _, tool := range listed {
		quoted, _ := json.Marshal(tool.Description)
		all := []rune(strings.Trim(string(quoted), `"`))
		n := len(all)
		for n > 0 && !strings.Contains(request, string(all[:n])) {
			n--
		}
		if n < len(all) {
			longest = max(longest, n)
		}
	}
	if longest == 0 {
		return "as listed"
	}
	return fmt.Sprintf("cut after %d characters", longest)
}

// differences names the members that a host adds to a schema or takes out, at any depth.
func differences(ours, theirs json.RawMessage) []string {
	var a, b any
	if json.Unmarshal(ours, &a) != nil || json.Unmarshal(theirs, &b) != nil {
		return []string{"no JSON"}
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	before, after := members(a), members(b)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] < before[name] {
			all = append(all, "without "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if before[name] == 0 {
			all = append(all, "with "+name)
		}
	}
	if len(all) == 0 {
		return []string{"other values"}
	}
	return all
}

func members(value any) map[string]int {
	found := map[string]int{}
	var walk func(any)
	walk = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, member := range v {
				found[name]++
				walk(member)
			}
		case []any:
			for _, member := range v {
				walk(member)
			}
		}
	}
	walk(value)
	return found
}

func unique(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}

// cell is what the table says of a scenario.
func (o outcome) cell() string {
	if len(o.results) == 0 {
		return "**no result**"
	}
	var parts []string
	switch {
	case o.fault.mark:
		parts = append(parts, whichArrives(o.results[0].Text))
	case o.name == "largest answer":
		parts = append(parts, o.length())
	default:
		parts = append(parts, o.arrivals())
	}
	switch n := len(o.calls); {
	case o.sent.calls == 0:
		parts = append(parts, "nothing sent")
	case o.sent.calls < n:
		parts = append(parts, fmt.Sprintf("%d of %d sent", o.sent.calls, n))
	case o.sent.calls > n:
		parts = append(parts, "**sent again**")
	}
	if o.sent.connects > 0 {
		parts = append(parts, "connects again")
	}
	switch {
	case o.fault.hold >= heldPast:
		parts = append(parts, o.waited())
	case o.fault.hold > 0 && o.sent.most > 1:
		parts = append(parts, "together")
	case o.fault.hold > 0:
		parts = append(parts, "one by one")
	case o.calls[0].Tool == diagnose:
		parts = append(parts, "asked for: "+arrives(o.sent.withProgress))
	}
	if contains(o.results, "io.sekisho/quota") {
		parts = append(parts, "with _meta")
	}
	if o.calls[0].Tool == era && find(o.offered, era).Name != "" {
		parts = append(parts, "listed afterwards: "+arrives(find(o.tools, era).Name != ""))
	}
	return strings.Join(parts, "; ")
}

func contains(results []given, words string) bool {
	return slices.ContainsFunc(results, func(r given) bool { return strings.Contains(r.Text, words) })
}

// whichArrives tells apart the text of a result and its structured content, which differ here.
func whichArrives(text string) string {
	plain := strings.ReplaceAll(text, `\`, "")
	texts, structured := strings.Contains(plain, `"formatted":"`+place+`"`), strings.Contains(plain, `"formatted":"`+markedPlace+`"`)
	switch {
	case texts && structured:
		return "both"
	case structured:
		return "structured content"
	case texts:
		return "text"
	}
	return "neither"
}

// waited says whether the host waited for a call that was held.
func (o outcome) waited() string {
	if o.took >= o.fault.hold {
		return "waits"
	}
	if o.fault.hold == heldPast {
		return "gives up as configured"
	}
	return fmt.Sprintf("gives up after %d s", int(o.took.Round(time.Second)/time.Second))
}

// length says how much of a long answer arrives.
func (o outcome) length() string {
	text := o.results[0].Text
	if strings.Contains(text, theEnd) && len(text) >= len(o.sent.words[0]) {
		return "whole"
	}
	if thousands := len(text) / 1000; thousands > 0 {
		return fmt.Sprintf("the first %d,000 of %d,000 characters", thousands, len(o.sent.words[0])/1000)
	}
	return "a file's name"
}

// arrivals says what became of the words, for all results that have their own answer.
func (o outcome) arrivals() string {
	var all []string
	for _, r := range o.results {
		how := "own words"
		if strings.Contains(r.Text, ofRegister) {
			how = "the words of /register"
		}
		for _, words := range o.sent.words {
			if found := asSent(r.Text, words); found != "" {
				how = found
				break
			}
		}
		if r.Flag == "error" {
			how += ", marked"
		}
		all = append(all, how)
	}
	return strings.Join(unique(all), " / ")
}

// ofRegister are words of the answer to POST /register, which hosts reach that try to log in.
const ofRegister = "takes an API key, not OAuth"

// asSent says how an answer's words stand in a text, and "" where they don't.
func asSent(text, words string) string {
	if words == "" {
		return ""
	}
	if text == words {
		return "word for word"
	}
	how := []string{"framed", "escaped", "escaped twice", "escaped three times"}
	for _, escaped := range how {
		if strings.Contains(text, words) {
			return escaped
		}
		quoted, err := json.Marshal(words)
		if err != nil {
			return ""
		}
		words = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(quoted[1 : len(quoted)-1]))
	}
	return ""
}

// masks take out what differs from run to run.
var masks = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(retryAfterMs\\*":)[1-9]\d{3,}`), `${1}…`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), `…T00:00:00.000Z`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), `127.0.0.1:…`},
	{regexp.MustCompile(`("id\\*":)\d+`), `${1}…`},
	{regexp.MustCompile(`key_[a-z0-9]{16}`), `key_…`},
	{regexp.MustCompile(`Wall time: [\d.]+`), `Wall time: …`},
	{regexp.MustCompile(`/tmp/[^\s"'\\]+`), `…`},
	{regexp.MustCompile(`\d+ used this month`), `… used this month`},
}

// longest is how much of a text testdata has.
const longest = 1500

// words are what the model is given, each text once. Some hosts give the results of calls at once in the
// order in which they came, so they are sorted.
func (o outcome) words() string {
	var all []string
	for _, r := range o.results {
		text := r.Text
		for _, m := range masks {
			text = m.what.ReplaceAllString(text, m.with)
		}
		if runes := []rune(text); len(runes) > longest {
			text = string(runes[:longest]) + "…"
		}
		mark := ""
		if r.Flag != "" {
			mark = "Marked: " + r.Flag + ".\n"
		}
		all = append(all, fmt.Sprintf("\n%s```\n%s\n```\n", mark, text))
	}
	return strings.Join(unique(all), "")
}

// compare holds the report against the files, unless only some of the hosts were asked for.
func (r *report) compare(t *testing.T) {
	if len(r.lines) < len(hosts) || t.Failed() {
		t.Logf("%d of %d hosts ran: nothing is compared", len(r.lines), len(hosts))
		return
	}
	same(t, "hosts.md", r.table())
	r.compareReadmes(t)
	for _, h := range hosts {
		var b strings.Builder
		fmt.Fprintf(&b, "# What the model of %s is given\n\nWritten by the test with `-update`. An ellipsis stands for what differs from run to run, or for the rest of a long text.\n", r.named(h))
		for _, s := range scenarios() {
			fmt.Fprintf(&b, "\n## %s\n%s", s, r.words[h.id][s])
		}
		same(t, filepath.Join("testdata", h.id+".md"), b.String())
	}
}

// compareReadmes: both tables name every host with its version, one of them with its protocol too.
func (r *report) compareReadmes(t *testing.T) {
	t.Helper()
	for _, file := range []string{"../../../README.md", "../README.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			want := r.named(h)
			if file == "../README.md" {
				want = "| " + want + " | " + r.lines[h.id]["Protocol"] + " |"
			}
			if !strings.Contains(string(text), want) {
				t.Errorf("%s doesn't have %q", file, want)
			}
		}
	}
}

func same(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(lines), len(wanted)) {
		if at := func(all []string) string { return strings.Join(all[min(i, len(all)):min(i+1, len(all))], "") }; at(lines) != at(wanted) {
			t.Errorf("%s, line %d:\n  %s\nis now\n  %s", file, i+1, at(wanted), at(lines))
			return
		}
	}
}

func scenarios() (names []string) {
	for _, c := range conversations {
		for _, s := range c.scenarios {
			names = append(names, s.name)
		}
	}
	return names
}

func (r *report) named(h host) string { return h.name + " " + r.lines[h.id]["Version"] }

// table is hosts.md.
func (r *report) table() string {
	var b strings.Builder
	b.WriteString(introduction)
	b.WriteString("\n## The list of tools, as the model gets it\n\n| Host | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, h := range hosts {
		fmt.Fprintf(&b, "| %s |", h.name)
		for _, column := range columns {
			fmt.Fprintf(&b, " %s |", r.lines[h.id][column])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Calls\n\n| Scenario |")
	for _, h := range hosts {
		fmt.Fprintf(&b, " %s |", r.named(h))
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(hosts)) + "\n")
	for _, s := range scenarios() {
		fmt.Fprintf(&b, "| %s |", s)
		for _, h := range hosts {
			fmt.Fprintf(&b, " %s |", r.cells[h.id][s])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n" + legend)
	return b.String()
}

const introduction = `# Hosts

Written by the test with ` + "`-update`" + `, and compared on each run. Each host ran headless, with the configuration that
` + "`sekisho up`" + ` prints, for a scripted model on the loopback; a proxy between it and the service counted and interfered.
The words themselves are in testdata.
`

var legend = fmt.Sprintf(`- Tokens: the size of names, descriptions and schemas as the model gets them, in bytes, divided by four.
- word for word: the model gets the text of the result as it was sent. framed: with words of the host around it. escaped: inside
  a JSON string. own words: the host says something else, and the server's words are lost.
- marked: as an error, where the model's API has a mark for it. OpenAI's chat completions and responses have none.
- text or structured: the text of a result and its structured content said different things.
- 429, 503 and 500 came with a body, and the first two with Retry-After: 1. cut: the connection was closed instead of an answer.
- A call is one request unless something else is said. connects again: the host first sets up a new connection.
- a file's name: the host keeps the answer in a file and gives the model less than 1,000 characters of it.
- held for 31 s: a call that is answered 2 s after API Gateway's limit, with the waiting that the host has by default. time-out: a
  call held for %d s, with waiting for %d s configured where the host has a setting.
- after: the next call, which nothing interferes with.
`, heldPast/time.Second, shortWait)
