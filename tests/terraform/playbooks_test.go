package terraform_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sekisho/tests/terraform/insights"
)

// TestPlaybooks pastes the query of each playbook, and that of the README beside them, into logs that
// were recorded while things went wrong: a used-up key, wrong keys, an upstream that fails, and the
// brake. What it finds must be what the playbook is about.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	access, functions, key := recordTrouble(t)
	contract, err := readContract(root)
	must(t, err)
	commands := slices.Collect(maps.Values(contract.QueryFields))
	for name, find := range map[string]struct {
		log  []insights.Record
		want insights.Row // the first row, as far as it is named here
	}{
		"refusals":    {access, insights.Row{"denial": "limit_exceeded", "status": "429", "key_id": key["free"], "calls": "4"}},
		"failures":    {access, insights.Row{"response_type": "INTEGRATION_FAILURE", "operation": "postal.lookup", "status": "503", "calls": "3"}},
		"latency":     {access, insights.Row{}},
		"throttles":   {access, insights.Row{"response_type": "INTEGRATION_FAILURE", "route": "/v1/postal/{postal_code}", "key_id": key["pro"], "calls": "3"}},
		"spend-rate":  {access, insights.Row{"key_id": key["free"], "operation": "calendar.holidays"}},
		"errors":      {functions, insights.Row{"record.status": "timeout", "times": "4"}},
		"undelivered": {functions, insights.Row{"record.status": "timeout", "times": "4"}},
		"../README":   {access, insights.Row{"key_id": key["free"], "denial": "limit_exceeded", "status": "429", "calls": "4"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := queryOf(t, name)
			for line := range strings.Lines(text) {
				if command := strings.TrimSpace(strings.TrimPrefix(line, "| ")); strings.HasPrefix(command, "parse ") && !slices.Contains(commands, command) {
					t.Errorf("%s is none of the contract's commands, %q", command, commands)
				}
			}
			query, err := insights.Parse(text)
			must(t, err)
			for _, field := range query.Fields() {
				if !slices.ContainsFunc(find.log, func(r insights.Record) bool { _, ok := r[field]; return ok }) {
					t.Errorf("no line of the log has the field %s", field)
				}
			}
			rows := query.Run(find.log)
			if len(rows) == 0 {
				t.Fatal("it finds nothing")
			}
			for field, want := range find.want {
				if rows[0][field] != want {
					t.Errorf("first it finds %v, want %v", rows[0], find.want)
					break
				}
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(root, playbooks, "*.md"))
	must(t, err)
	if len(files) != 7 {
		t.Errorf("%d playbooks: %v; this test has 7", len(files), files)
	}
}

const playbooks = "modules/observability/playbooks"

var fencedQuery = regexp.MustCompile("(?s)\n```\n(.*?)\n```\n")

// queryOf is the one query of a playbook.
func queryOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, playbooks, name+".md"))
	must(t, err)
	queries := fencedQuery.FindAllStringSubmatch(string(text), -1)
	if len(queries) != 1 {
		t.Fatalf("%s has %d queries, want one to paste", name, len(queries))
	}
	return queries[0][1]
}

// recordTrouble serves on this machine, brings trouble about, and returns what was logged, by the
// gateway and by functions, and the ID of each plan's key. Lambda's own records of functions that hang are added, as a laptop
// has no Lambda (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html).
func recordTrouble(t *testing.T) (access, functions []insights.Record, key map[string]string) {
	data := t.TempDir()
	served := binary.Up(t, nil, data, "--plan", "free=2", "--plan", "pro=1000", "--reserved", "postal=0")
	call := func(key, path string, times int) {
		for range times {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.APIURL+path, nil)
			must(t, err)
			request.Header.Set("x-api-key", key)
			response, err := http.DefaultClient.Do(request)
			must(t, err)
			must(t, response.Body.Close())
		}
	}
	call(served.Keys["free"], "/v1/calendar/holidays?year=2026", 6) // 2 within the limit
	call("a-wrong-key", "/v1/calendar/holidays?year=2026", 2)
	call(served.Keys["pro"], "/v1/external/stats/status-500", 1)
	call(served.Keys["pro"], "/v1/postal/100-0001", 3)

	access = recorded(t, filepath.Join(data, "access.jsonl"))
	functions = append(recorded(t, filepath.Join(data, "log.jsonl")), platform(t, 4)...)
	var keys []struct {
		ID   string `json:"key_id"`
		Plan string `json:"plan"`
	}
	out, _ := binary.Run(t, nil, "keys", "list", "--json", "--data", data)
	must(t, json.Unmarshal([]byte(out), &keys))
	key = map[string]string{}
	for _, k := range keys {
		key[k.Plan] = k.ID
	}
	return access, functions, key
}

// platform is Lambda's record of a function that ran into its timeout.
func platform(t *testing.T, times int) (records []insights.Record) {
	for i := range times {
		r, err := insights.Read(fmt.Sprintf(`{"time":"2026-11-30T00:00:0%dZ","type":"platform.report","record":{"requestId":"r%d","status":"timeout","metrics":{"durationMs":5000}}}`, i, i))
		must(t, err)
		records = append(records, r)
	}
	return records
}

func recorded(t *testing.T, path string) (records []insights.Record) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	for line := range strings.Lines(string(text)) {
		r, err := insights.Read(line)
		must(t, err)
		records = append(records, r)
	}
	fields := map[string]bool{}
	for _, r := range records {
		for name := range r {
			fields[name] = true
		}
	}
	t.Logf("%s: %d lines with %v", filepath.Base(path), len(records), slices.Sorted(maps.Keys(fields)))
	return records
}
