package terraform_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/tests/e2e/suite"
	"sekisho/tests/program"
	"sekisho/tests/terraform/stack"
)

// verifyServed serves what was applied, from what Terraform says about it and over the
// applied tables, and runs the end-to-end suite against that: what is served is what was
// applied.
func verifyServed(t *testing.T, s *stack.Stack, outputs stack.Outputs) {
	printed, err := s.Printed(t, t.Context())
	must(t, err)
	file := filepath.Join(t.TempDir(), "applied.json")
	must(t, os.WriteFile(file, printed, 0o600))
	environment := cloud.Variables()
	served := binary.Up(t, environment, t.TempDir(), "--applied", file)
	if !strings.HasSuffix(served.APIURL, "/"+outputs.Applied.Stage) {
		t.Errorf("served at %s, which is not below the stage %s", served.APIURL, outputs.Applied.Stage)
	}
	verifyDescription(t, served.Ready, outputs)
	verifyFigures(t, served.Ready, outputs)
	started := time.Now()
	suite.Run(t, suite.Target{
		MCPURL: served.MCPURL, APIURL: served.APIURL, LocalToken: served.LocalToken, Repeats: 1, Settled: time.Minute,
		Sekisho: binary.On(environment, "--accounts-table", outputs.Tables["accounts"], "--usage-table", outputs.Tables["usage"],
			"--plans", outputs.Applied.Functions["authorizer"].Environment["SEKISHO_PLANS"]),
	})
	t.Logf("end-to-end suite: %.1f s", time.Since(started).Seconds())
}

// verifyDescription: the gateway was built from the very bytes that API Gateway was given.
func verifyDescription(t *testing.T, served program.Ready, outputs stack.Outputs) {
	if got := besideStage(t, served, "/_local/description"); string(got) != outputs.Applied.Body {
		t.Errorf("the served description is not the applied one: %.200s", got)
	}
}

// verifyFigures: each function runs with the applied memory, timeout and reservation, and
// only functions that no route names are left out.
func verifyFigures(t *testing.T, at program.Ready, outputs stack.Outputs) {
	var served map[string]struct {
		MemoryMB int     `json:"memory_mb"`
		Timeout  float64 `json:"timeout_seconds"`
		Reserved int     `json:"reserved_concurrency"`
	}
	must(t, json.Unmarshal(besideStage(t, at, "/_local/functions"), &served))
	for name, want := range outputs.Applied.Functions {
		got, ok := served[name]
		if !ok && slices.Contains(at.LeftOut, name) && !strings.Contains(outputs.Applied.Body, ":function:"+want.Name+"/") {
			continue
		}
		if !ok || got.MemoryMB != want.MemoryMB || got.Timeout != float64(want.TimeoutSeconds) || got.Reserved != want.ReservedConcurrency {
			t.Errorf("%s is served as %+v (%v), and was applied as %+v", name, got, ok, want)
		}
	}
	if len(served)+len(at.LeftOut) != len(outputs.Applied.Functions) {
		t.Errorf("served %d functions and left out %v, of %d applied", len(served), at.LeftOut, len(outputs.Applied.Functions))
	}
}

// besideStage gets what only the laptop has.
func besideStage(t *testing.T, served program.Ready, path string) []byte {
	t.Helper()
	base, _, _ := strings.Cut(strings.TrimPrefix(served.APIURL, "http://"), "/")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+base+path, nil)
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+served.LocalToken)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return body
}
