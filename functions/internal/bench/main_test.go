// Package bench is what `make bench` measures. scripts/bench builds it and runs TestBench; the table
// and the aims are in tests/bench. With no flags, as in `make test`, TestBench measures the parts that
// need nothing but this process, once and briefly, so that they can't rot between two runs.
package bench

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/tests/awsfake"
	"sekisho/tests/awsfake/tables"
	"sekisho/tests/bench"
	"sekisho/tests/repository"
)

var (
	which  = flag.String("bench", "", "the parts to measure, separated by commas, or all; without it those in process, briefly")
	rounds = flag.Int("rounds", 0, "rounds of each part; 0: as many as the part needs to be steady")
	before = flag.String("before", "", "a report of an earlier run, shown beside this one's figures")
	out    = flag.String("out", "", "where the report goes, as JSON; parts that are there and are not measured now stay")
	table  = flag.String("table", "", "where its Markdown goes")
)

// part is one thing that can be measured by itself.
type part struct {
	name string
	// rounds make it steady on an idle machine within the minutes that all parts may take.
	rounds  int
	measure func(*run)
}

var parts = []part{
	{"trips", 1, roundTrips},
	{"authorizer", 15, authorizerInProcess},
	{"mcp", 11, mcpLayer},
	{"cold", 25, coldStarts},
	{"warm", 5, warmProcesses},
	{"laptop", 3, laptopService},
	{"race", 3, races},
}

// inProcess are the parts that `make test` runs.
var inProcess = []string{"authorizer", "mcp"}

// run is the measuring of one part.
type run struct {
	*testing.T
	part   *bench.Part
	rounds int
	// brief is for trying the harness out: the figures mean nothing.
	brief    bool
	progress io.Writer
}

// lasting is how long something is measured: next to nothing where it only has to work.
func (r *run) lasting(d time.Duration) time.Duration {
	if r.brief {
		return min(d, 2*time.Millisecond)
	}
	return d
}

// many is how often something is done: a hundredth where it only has to work.
func (r *run) many(n int) int {
	if r.brief {
		return max(1, n/100)
	}
	return n
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *run) table(name, title string, columns ...string) *bench.Table {
	return r.part.Table(name, title, columns...)
}

// interleave is Table.Interleave with the part's rounds.
func (r *run) interleave(t *bench.Table, variants []bench.Variant, ratios ...bench.Ratio) {
	r.Helper()
	r.must(t.Interleave(r.progress, r.rounds, variants, ratios...))
}

// cloud is an emulator of AWS, shared by the parts.
var cloud *awsfake.Cloud

func (r *run) cloud() *awsfake.Cloud {
	r.Helper()
	if cloud == nil {
		var err error
		cloud, err = awsfake.Start()
		r.must(err)
	}
	return cloud
}

// fresh makes tables of their own.
func (r *run) fresh(name string) dynamo.Tables {
	r.Helper()
	accounts, usage, err := tables.Fresh(r.Context(), tables.Client(r.cloud().Endpoint, http.DefaultTransport), name)
	r.must(err)
	return dynamo.Tables{Accounts: accounts, Usage: usage}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if cloud != nil {
		cloud.Stop()
	}
	os.Exit(code)
}

func TestBench(t *testing.T) {
	chosen, brief, progress := strings.Split(*which, ","), testing.Short(), io.Writer(os.Stderr)
	switch *which {
	case "":
		chosen, brief, progress = inProcess, true, io.Discard
	case "all":
		chosen = names()
	}
	var measured bench.Report
	for _, name := range chosen {
		i := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if i < 0 {
			t.Fatalf("there is no part %q; there are %s, and all", name, strings.Join(names(), ", "))
		}
		var p *bench.Part
		if t.Run(name, func(t *testing.T) { p = parts[i].run(t, brief, progress) }) {
			measured.Parts = append(measured.Parts, p) // what another part fails at does not undo it
		}
	}
	if err := write(measured); err != nil {
		t.Fatal(err)
	}
}

func names() (all []string) {
	for _, p := range parts {
		all = append(all, p.name)
	}
	return all
}

func (p part) run(t *testing.T, brief bool, progress io.Writer) *bench.Part {
	r := &run{T: t, part: &bench.Part{Name: p.name, Machine: machine()}, rounds: p.rounds, brief: brief, progress: progress}
	if *rounds > 0 {
		r.rounds = *rounds
	} else if brief {
		r.rounds = 1
	}
	r.part.Rounds = plural(r.rounds, "round")
	if brief {
		r.part.Rounds += ", too brief to mean anything"
	}
	root, err := repository.Root()
	r.must(err)
	r.part.Commit, r.part.Date = commit(root), time.Now().UTC().Format(time.DateOnly)
	fmt.Fprintf(progress, "%s\n", p.name)
	start := time.Now()
	p.measure(r)
	r.part.Seconds = time.Since(start).Seconds()
	return r.part
}

// write adds what was measured to the report, and draws its tables.
func write(measured bench.Report) error {
	earlier, err := bench.Read(*before)
	if err != nil {
		return err
	}
	report := measured
	if *out != "" {
		if report, err = bench.Read(*out); err != nil {
			return err
		}
		report.Replace(measured, names())
		if err := report.Write(*out); err != nil {
			return err
		}
	}
	text, err := report.Markdown(earlier)
	if err != nil || *table == "" {
		return err
	}
	return os.WriteFile(*table, []byte(text), 0o644)
}

// commit is what was measured. "+" says that files differed from it.
func commit(root string) string {
	said := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(out))
	}
	name := said("rev-parse", "--short", "HEAD")
	if said("status", "--porcelain", "--untracked-files=no") != "" {
		name += "+"
	}
	return name
}

func machine() string {
	model := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	load, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%d × %s, %s, load %s at its start", runtime.NumCPU(), model, runtime.Version(), first)
}
