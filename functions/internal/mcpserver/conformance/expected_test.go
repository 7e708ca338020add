//go:build interop

package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// expectation is an entry of testdata/expected-failures.json: what fails, and why it is
// right that it does.
type expectation struct {
	// Runs are names of runs.
	Runs     []string `json:"runs"`
	Scenario string   `json:"scenario"`
	// Checks are the ids that fail. Without any, every failure in the scenario is meant.
	Checks []string `json:"checks,omitempty"`
	Reason string   `json:"reason"`
}

func readExpectations(path string) ([]expectation, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []expectation
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, e := range list {
		if e.Reason == "" || e.Scenario == "" || len(e.Runs) == 0 {
			return nil, fmt.Errorf("%s: the entry of %q needs runs, scenario and reason", path, e.Scenario)
		}
	}
	return list, nil
}

// verdicts of the scenarios of a run against what is expected of it.
type verdicts struct {
	// reasons by scenario, of the failures that were expected.
	reasons map[string]string
	// unexpected failures, and stale expectations.
	complaints []string
}

func judge(name string, found report, list []expectation) verdicts {
	v := verdicts{reasons: map[string]string{}}
	left := map[string]map[string]string{}
	for _, s := range found.scenarios {
		left[s.name] = s.failures()
	}
	for _, e := range list {
		if slices.Contains(e.Runs, name) {
			v.apply(e, left[e.Scenario])
		}
	}
	for _, s := range found.scenarios {
		for _, id := range sorted(left[s.name]) {
			v.complaints = append(v.complaints, fmt.Sprintf("unexpected failure: %s: %s: %s", s.name, id, left[s.name][id]))
		}
	}
	return v
}

// apply takes the expected ones out of a scenario's failures.
func (v *verdicts) apply(e expectation, failed map[string]string) {
	checks := e.Checks
	if len(checks) == 0 {
		if checks = sorted(failed); len(checks) == 0 {
			v.complaints = append(v.complaints, fmt.Sprintf("stale: %s is expected to fail, and does not or is gone", e.Scenario))
		}
	}
	for _, id := range checks {
		if _, ok := failed[id]; !ok {
			v.complaints = append(v.complaints, fmt.Sprintf("stale: %s: %s is expected to fail, and does not or is gone", e.Scenario, id))
		}
		delete(failed, id)
	}
	v.reasons[e.Scenario] = e.Reason
}
