//go:build aws

package aws

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"sekisho/tests/e2e/suite"
	"sekisho/tests/program"
	"sekisho/tests/terraform/stack"
)

// enough for the suite's hundred concurrent calls, each of which runs several functions.
const enoughConcurrency = 300

func TestSuite(t *testing.T) {
	path := os.Getenv("SEKISHO_TEST_AWS_APPLIED")
	if path == "" {
		t.Fatal("SEKISHO_TEST_AWS_APPLIED is not set: run scripts/test-aws, which applies a stack first")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var outputs struct {
		Stack struct {
			Value stack.Outputs `json:"value"`
		} `json:"stack"`
	}
	if err := json.Unmarshal(raw, &outputs); err != nil {
		t.Fatal(err)
	}
	applied := outputs.Stack.Value
	if n := applied.Concurrency.Unreserved; n < enoughConcurrency {
		t.Fatalf("the account has %d unreserved concurrent executions, and the suite needs %d: ask Service Quotas for more", n, enoughConcurrency)
	}
	binary, err := program.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	target := suite.Target{
		MCPURL: applied.MCPURL, APIURL: applied.APIURL, Repeats: 1, Settled: 5 * time.Minute,
		Sekisho: binary.On(nil, "--accounts-table", applied.Tables["accounts"], "--usage-table", applied.Tables["usage"],
			"--plans", applied.Applied.Functions["authorizer"].Environment["SEKISHO_PLANS"]),
	}
	if os.Getenv("SEKISHO_TEST_AWS_GATEWAY") == "local" {
		served := binary.Up(t, nil, t.TempDir(), "--applied", path)
		target.MCPURL, target.APIURL, target.LocalToken = served.MCPURL, served.APIURL, served.LocalToken
	}
	suite.Run(t, target)
}
