//go:build interop

package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/tests/npm"
)

// run is one way to run a suite.
type run struct {
	// name, after the suite's version, is the golden file's and the expected failures'.
	name string
	// suite is the alias that tests/interop/conformance/package.json installs it under.
	suite   string
	options []string
}

// report is what a suite found.
type report struct {
	scenarios []scenario
	// notScored gives the reason for which the suite itself does not count a scenario.
	notScored map[string]string
}

type scenario struct {
	name   string
	checks []check
}

type check struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"errorMessage"`
}

// count is how many checks ended so: SUCCESS, FAILURE, WARNING, SKIPPED or INFO.
func (s scenario) count(status string) int {
	n := 0
	for _, c := range s.checks {
		if c.Status == status {
			n++
		}
	}
	return n
}

// failures are the ids of the checks that failed, with what they said; an id may come twice.
func (s scenario) failures() map[string]string {
	failed := map[string]string{}
	for _, c := range s.checks {
		if c.Status == "FAILURE" {
			failed[c.ID] = c.Message
		}
	}
	return failed
}

// timeLimit of one run, which takes seconds: a suite waits up to 30 s for each answer.
const timeLimit = 5 * time.Minute

// do lets the suite test the endpoint. That checks fail is a finding and no error here.
func (r run) do(t *testing.T, suites npm.Packages, endpoint string) report {
	ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
	defer cancel()
	results := t.TempDir()
	args := append([]string{filepath.Join(suites.Modules, r.suite, "dist", "index.js"), "server", "--url", endpoint, "--output-dir", results}, r.options...)
	command := exec.CommandContext(ctx, suites.Node(), args...)
	command.Dir = results
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("the suite did not run to its end: %v\n%s", err, out.Bytes())
	}
	found, err := read(out.String(), results)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, out.Bytes())
	}
	return found
}

var (
	summaryLine  = regexp.MustCompile(`(?m)^[✓✗] (\S+): (\d+) passed, (\d+) failed$`)
	unscoredLine = regexp.MustCompile(`(?m)^  [✓✗] (\S+) \((\S+)\)$`)
)

// read puts together what the suite printed, which has every scenario, and the files with
// the checks of each; both must agree.
func read(printed, results string) (report, error) {
	_, summary, ok := strings.Cut(printed, "=== SUMMARY ===")
	if !ok {
		return report{}, errors.New("the suite printed no summary")
	}
	found := report{notScored: map[string]string{}}
	for _, line := range summaryLine.FindAllStringSubmatch(summary, -1) {
		s := scenario{name: line[1]}
		if err := s.readChecks(results); err != nil {
			return report{}, err
		}
		if got := fmt.Sprint(s.count("SUCCESS"), s.count("FAILURE")); got != line[2]+" "+line[3] {
			return report{}, fmt.Errorf("%s: the summary says %s passed and %s failed, the checks say %s", s.name, line[2], line[3], got)
		}
		found.scenarios = append(found.scenarios, s)
	}
	if len(found.scenarios) == 0 {
		return report{}, errors.New("the summary has no scenario")
	}
	for _, line := range unscoredLine.FindAllStringSubmatch(summary, -1) {
		found.notScored[line[1]] = line[2]
	}
	return found, nil
}

// readChecks finds the file of a scenario, in a directory named after it and the time.
func (s *scenario) readChecks(results string) error {
	files, err := filepath.Glob(filepath.Join(results, "server-"+s.name+"-[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*", "checks.json"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%s: %d files of checks: %w", s.name, len(files), err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &s.checks)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
