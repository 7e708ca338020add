//go:build interop

package conformance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/laptop"
	"sekisho/tests/npm"
)

var update = flag.Bool("update", false, "write the tables under testdata")

// Every server scenario of the stable suite, and what the newer one requires of each
// revision that it knows. Scenarios of both revisions are another test under each.
var runs = []run{
	{name: "0.1.16", suite: "conformance-0.1", options: []string{"--suite", "all"}},
	{name: "0.2.0-alpha.12-2025-11-25", suite: "conformance-0.2", options: []string{"--requirements", "2025-11-25"}},
	{name: "0.2.0-alpha.12-2026-07-28", suite: "conformance-0.2", options: []string{"--requirements", "2026-07-28"}},
}

const expectedFailures = "testdata/expected-failures.json"

// TestConformance: what the suites find is the same by every door.
func TestConformance(t *testing.T) {
	expected, err := readExpectations(expectedFailures)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range expected {
		for _, name := range e.Runs {
			if !slices.ContainsFunc(runs, func(r run) bool { return r.name == name }) {
				t.Errorf("%s: there is no run %q", expectedFailures, name)
			}
		}
	}
	suites, err := npm.Install("conformance")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		for _, door := range []string{laptop.DoorREST, laptop.DoorHTTP, laptop.DoorURL} {
			t.Run(r.name+"_"+door, func(t *testing.T) {
				t.Parallel() // the suites mostly wait
				if v, err := suites.Version(r.suite); err != nil || !strings.HasPrefix(r.name, v) {
					t.Fatalf("version %s of the suite is installed: %v", v, err)
				}
				found := r.do(t, suites, startLayer(t, door))
				v := judge(r.name, found, expected)
				for _, complaint := range v.complaints {
					t.Error(complaint)
				}
				compare(t, "testdata/conformance-"+r.name+".md", r.table(sdkVersion(t), found, v))
			})
		}
	}
}

// table shows every scenario with its checks and what is made of them.
func (r run) table(sdk string, found report, v verdicts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance suite %s\n\n`server %s`, against the MCP function with go-sdk %s.\n\n", r.name, strings.Join(r.options, " "), sdk)
	b.WriteString("| Scenario | Passed | Failed | Warnings | Skipped | Verdict |\n|---|---|---|---|---|---|\n")
	count := map[string]int{}
	for _, s := range found.scenarios {
		verdict := v.of(s)
		count[verdict]++
		if reason := found.notScored[s.name]; reason != "" {
			verdict += " (not scored by the suite: " + reason + ")"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %s |\n", s.name,
			s.count("SUCCESS"), s.count("FAILURE"), s.count("WARNING"), s.count("SKIPPED"), verdict)
	}
	fmt.Fprintf(&b, "\n%d scenarios: %d passed, %d failed as expected, %d failed unexpectedly, %d without a check that applies.\n",
		len(found.scenarios), count[passed], count[asExpected], count[unexpected], count[nothing])
	if len(v.reasons) > 0 {
		b.WriteString("\n## Expected failures\n\n| Scenario | Reason |\n|---|---|\n")
	}
	for _, name := range sorted(v.reasons) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, v.reasons[name])
	}
	return b.String()
}

const (
	passed     = "passed"
	asExpected = "failed as expected"
	unexpected = "FAILED"
	nothing    = "nothing to check"
)

func (v verdicts) of(s scenario) string {
	switch {
	case s.count("FAILURE") > 0 && v.reasons[s.name] != "":
		return asExpected
	case s.count("FAILURE") > 0:
		return unexpected
	case s.count("SUCCESS") == 0:
		return nothing
	}
	return passed
}

func sdkVersion(t *testing.T) string {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/modelcontextprotocol/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func compare(t *testing.T, path, got string) {
	t.Log("\n" + got)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: write it with: go test -tags interop -update", err)
	}
	if got != string(want) {
		t.Errorf("the table differs from %s; when that is right: go test -tags interop -update", path)
	}
}
