// Package internal_test holds the rules of what imports what. A rule that is broken says why
// it is there; change the table only together with the reason.
package internal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/handler"
)

// A layer is a part of the house. Its packages import one another, and those of the layers
// that it may use. Names are relative to this directory; "x/..." is x and all below it.
type layer struct {
	name     string
	packages string
	uses     string
	why      string
}

var layers = []layer{
	{"domain", "opaque memo apikey account grant usage ratelimit problem brake backend outbound/... contract/... lazy reply clientconfig spelling toolsearch tools/... trace", "",
		"the rules of metering hold whatever runs them: no cloud, no store, no server"},
	{"boot", "boot", "",
		"every function starts with it, so what it imports is in every cold start"},
	{"gateway", "gateway", "domain",
		"what API Gateway hands over is read by handlers, settlement and reports alike"},
	{"admission", "admission", "domain boot gateway store",
		"the authorizer and mcp count and refuse alike, so both ask one gate, built of one environment"},
	{"issuer", "issuer", "domain boot",
		"whose tokens are taken is a question about keys, and nothing of the cloud or of MCP answers it"},
	{"money", "money/...", "domain gateway",
		"costs are arithmetic on what was measured and logged"},
	{"tracing", "trace/otlp", "domain boot",
		"what sends spans is linked by the mains whose functions make some"},
	{"store", "store", "domain boot",
		"an interface must not know who implements it"},
	{"sqlite", "sqlite", "domain store",
		"a store implements the domain's interfaces; nothing else of the product is its business"},
	{"aws", "aws/brake aws/config aws/dispatchlog aws/dynamo aws/function aws/logsinsights aws/parameter aws/queue aws/topic", "domain boot gateway money store",
		"adapters know the domain, and the domain no adapter; none of them knows a handler"},
	{"handler", "handler/...", "domain boot gateway admission store",
		"a handler takes its store and its cloud from main, so that a laptop can give it others"},
	{"mcpserver", "mcpserver", "domain boot gateway admission issuer store",
		"MCP reaches the tools through the REST API or the gate, never past both"},
	{"oauth", "oauth", "domain boot gateway issuer store",
		"it signs people in by the keys that there are, and knows nothing of tools and counters"},
	{"laptop", "laptop/...", "domain boot gateway admission handler mcpserver oauth store",
		"it runs the functions over any store, and AWS is what it stands in for"},
	{"openapi", "openapi", "domain",
		"it reads what strangers wrote, and needs nothing but the contract's own rules and a guarded client"},
	{"main", "../...", "openapi domain boot gateway admission issuer money tracing store sqlite aws handler mcpserver oauth laptop",
		"only a main chooses what goes together, and no main links what is for tests"},
	{"test", "bench store/storetest store/faults aws/dynamo/dynamotest outbound/outboundtest laptop/laptoptest mcpserver/conformance", "openapi domain boot gateway admission issuer money tracing store sqlite aws handler mcpserver oauth laptop main",
		"it is for tests, and only they may import it"},
}

// A rule keeps packages off imports from elsewhere. Names without "./" are import paths.
type rule struct {
	only  string // these packages alone may import it,
	never string // or these must not, not even through others
	what  string
	why   string
}

var rules = []rule{
	{only: "./aws/... ../cmd/sekisho", what: "github.com/aws/aws-sdk-go-v2/... github.com/aws/smithy-go/...",
		why: "a cloud stands behind an interface; the command line alone also loads an operator's credentials"},
	{only: "./aws/brake ./aws/function ../cmd/sekisho", what: "github.com/aws/aws-sdk-go-v2/service/lambda/...",
		why: "functions are changed by the brake alone, and invoked in one place"},
	{only: "./boot", what: "github.com/aws/aws-lambda-go/lambda",
		why: "functions start in one place, boot.Main"},
	{only: "./boot ./gateway ./handler/... ./oauth ./laptop/... ../cmd/sekisho", what: "github.com/aws/aws-lambda-go/...",
		why: "Lambda's events end at the handlers, at what stands in for Lambda, and at the command that settles what Lambda could not"},
	{only: "./outbound/... ./trace/... ./aws/function ./aws/queue ./aws/dynamo/dynamotest ./contract ./gateway ./handler/... ./issuer ./mcpserver/... ./oauth ./laptop/... ../cmd/sekisho", what: "net/http",
		why: "the domain serves no HTTP: outbound is a client, contract and issuer use the names of methods and statuses"},
	{only: "./issuer", what: "github.com/go-jose/...",
		why: "a token's signature is checked in one place, by one list of algorithms"},
	{never: "../mcp", what: "github.com/ory/...",
		why: "every call passes mcp, and what signing in needs is in the function oauth: mcp only checks tokens"},
	{only: "./sqlite", what: "database/sql/... modernc.org/sqlite/...",
		why: "SQL stays within the store that speaks it"},
	{only: "./mcpserver/...", what: "github.com/modelcontextprotocol/go-sdk/...",
		why: "the MCP SDK changes with its protocol, and one package follows it"},
	{only: "./oauth", what: "github.com/ory/fosite/...",
		why: "one package speaks OAuth; what that links would slow every other function's start"},
	{never: "../mcp", what: "github.com/ory/fosite/...",
		why: "mcp checks tokens by the store alone"},
	{only: "./toolsearch", what: "github.com/kljensen/snowball/...",
		why: "how words are compared is the search's business"},
	{only: "./laptop/upstream", what: "github.com/mccutchen/go-httpbin/...",
		why: "the small upstream is a laptop's"},
	{never: deployed("../oauth"), what: "gopkg.in/yaml.v3/...",
		why: "a cold start doesn't wait for YAML: functions read the contract as JSON; oauth has it of fosite, whose storage links its tests' libraries"},
	{never: deployed(""), what: "github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas github.com/aws/aws-sdk-go-v2/service/lambda/schemas github.com/aws/aws-sdk-go-v2/service/ssm/schemas " +
		"github.com/aws/aws-sdk-go-v2/service/sns/schemas github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/schemas",
		why: "schemas of all operations are built when a process starts, up to 1.3 ms a service: before a client of the SDK is updated, see mcpserver/UPSTREAM.md and measure with make bench BENCH=cold"},
	{only: "../cmd/sekisho", what: "sekisho/functions/internal/openapi",
		why: "descriptions of strangers are read where a person reviews what comes of them, never in a function"},
	{only: "../cmd/sekisho", what: "github.com/alecthomas/kong",
		why: "only the command line has flags"},
	{only: "./store/storetest ./outbound/outboundtest ./laptop/laptoptest", what: "testing net/http/httptest pgregory.net/rapid sekisho/tests/...",
		why: "a program that is deployed carries no tests"},
	{never: storeless(), what: "github.com/aws/aws-sdk-go-v2/...",
		why: "these functions keep nothing, and the SDK is most of a cold start"},
}

// storeless are the mains of the functions that need no store.
func storeless() string {
	mains := []string{"../page"}
	for name := range handler.Functions() {
		mains = append(mains, "../"+name)
	}
	slices.Sort(mains)
	return strings.Join(mains, " ")
}

// deployed are the mains of all functions except one.
func deployed(except string) string {
	mains, err := filepath.Glob("../*/main.go")
	if err != nil || len(mains) == 0 {
		panic("no function has a main")
	}
	for i, main := range mains {
		mains[i] = filepath.ToSlash(filepath.Dir(main))
	}
	return strings.Join(slices.DeleteFunc(mains, func(main string) bool { return main == except }), " ")
}

func TestRules(t *testing.T) {
	for _, breach := range breaches(load(t)) {
		t.Error(breach)
	}
}

// TestRulesBite adds one forbidden import at a time to the real graph.
func TestRulesBite(t *testing.T) {
	real := load(t)
	bites := func(from string, way ...string) {
		t.Helper()
		g := maps.Clone(real)
		if len(breachesOf(g, from)) > 0 {
			t.Fatalf("%s breaks a rule as it is: see TestRules", from)
		}
		for importing := from; len(way) > 0; importing, way = way[0], way[1:] {
			g[importing] = append(slices.Clone(g[importing]), way[0])
		}
		if len(breachesOf(g, from)) == 0 {
			t.Errorf("that %s imports %q is not noticed", from, g[from])
		}
	}
	for _, from := range layers {
		for _, to := range layers {
			if from.name != to.name && !slices.Contains(strings.Fields(from.uses), to.name) {
				bites(real.oneOf(t, from), real.oneOf(t, to))
			}
		}
	}
	for _, r := range rules {
		for _, what := range strings.Fields(r.what) {
			path := strings.TrimSuffix(what, "/...")
			for _, name := range strings.Fields(r.never) {
				bites(full(name), "example.com/between", path)
			}
			if r.only != "" {
				bites(full("./apikey"), path)
			}
		}
	}
	if b := breachesOf(graph{full("./newcomer"): nil}, full("./newcomer")); len(b) != 1 {
		t.Errorf("a package without a layer: %q", b)
	}
}

// graph has the imports of each package.
type graph map[string][]string

// load asks the go command, which leaves out what only tests import.
func load(t *testing.T) graph {
	t.Helper()
	// Opened here, the sources are known to go's cache of test results, which does not see
	// what a subprocess reads.
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", "../...")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	g := graph{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else if err != nil {
			t.Fatal(err)
		}
		g[p.ImportPath] = p.Imports
	}
}

// breaches are what breaks a rule, and layers that name no package.
func breaches(g graph) (found []string) {
	used := map[string]bool{}
	for _, p := range slices.Sorted(maps.Keys(g)) {
		if matches(p, "../...") && p != here { // here is nothing but this test
			found = append(found, breachesOf(g, p)...)
			_, pattern := layerOf(p)
			used[pattern] = true
		}
	}
	for _, l := range layers {
		for _, pattern := range strings.Fields(l.packages) {
			if !used[pattern] {
				found = append(found, fmt.Sprintf("layer %s: there is no package %s", l.name, pattern))
			}
		}
	}
	return found
}

// breachesOf are those of one package.
func breachesOf(g graph, p string) (found []string) {
	from, pattern := layerOf(p)
	if pattern == "" {
		return []string{p + " belongs to no layer: add it to the table"}
	}
	for _, imported := range g[p] {
		to, _ := layerOf(imported)
		if to.name != "" && to.name != from.name && !slices.Contains(strings.Fields(from.uses), to.name) {
			found = append(found, fmt.Sprintf("%s (%s) imports %s (%s): %s", p, from.name, imported, to.name, from.why))
		}
	}
	for _, r := range rules {
		if way := r.broken(g, p); way != nil {
			found = append(found, fmt.Sprintf("%s: %s", strings.Join(way, " imports "), r.why))
		}
	}
	return found
}

// broken returns the shortest way from a package to what it must not import, nil if none.
func (r rule) broken(g graph, p string) []string {
	if (r.only != "" && matches(p, r.only)) || (r.never != "" && !matches(p, r.never)) {
		return nil
	}
	seen := map[string]bool{p: true}
	for ways := [][]string{{p}}; len(ways) > 0; ways = ways[1:] {
		way := ways[0]
		for _, imported := range g[way[len(way)-1]] {
			next := append(slices.Clone(way), imported)
			if matches(imported, r.what) {
				return next
			}
			if r.never != "" && !seen[imported] {
				seen[imported] = true
				ways = append(ways, next)
			}
		}
	}
	return nil
}

// oneOf picks a package of a layer.
func (g graph) oneOf(t *testing.T, l layer) string {
	for _, p := range slices.Sorted(maps.Keys(g)) {
		if of, _ := layerOf(p); of.name == l.name {
			return p
		}
	}
	t.Fatalf("layer %s is empty", l.name)
	return ""
}

// layerOf finds the layer of a package by the longest pattern that it matches.
func layerOf(p string) (of layer, pattern string) {
	inside := matches(p, "./...")
	for _, l := range layers {
		for _, candidate := range strings.Fields(l.packages) {
			relative := candidate
			if !strings.HasPrefix(relative, "../") {
				relative = "./" + relative
			}
			if len(candidate) > len(pattern) && matches(p, relative) && inside == strings.HasPrefix(relative, "./") {
				of, pattern = l, candidate
			}
		}
	}
	return of, pattern
}

const here = "sekisho/functions/internal"

// full makes an import path of a name relative to this directory.
func full(name string) string {
	if rest, ok := strings.CutPrefix(name, "../"); ok {
		return strings.TrimSuffix(here, "internal") + rest
	}
	if rest, ok := strings.CutPrefix(name, "./"); ok {
		return here + "/" + rest
	}
	return name
}

// matches reports whether one of several patterns means a package.
func matches(p, patterns string) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(pattern string) bool {
		pattern = full(pattern)
		if root, ok := strings.CutSuffix(pattern, "/..."); ok {
			return p == root || strings.HasPrefix(p, root+"/")
		}
		return p == pattern
	})
}
