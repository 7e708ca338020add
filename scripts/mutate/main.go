// Command mutate puts small faults into the code that decides about money and secrets, one at a
// time, and runs the package's tests: a fault that no test notices is one that could ship.
//
//	mutate [-for 30m] [-only PACKAGE] [-match REGEXP] [-sample N]
//
// It prints each survivor with its place and change. One that changes nothing that matters is listed in
// accepted.txt with the reason; any other makes the run fail.
//
// Mutation tools for Go change operators; the faults that were costly here were swallowed errors and
// changed constants, which those don't make.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// scopes are what is changed, the quickest tests first.
var scopes = []struct {
	dir string
	// files are those changed; all of the package's where none are named.
	files []string
	// beside are packages whose tests are run too: a rule is the domain's, and the contract suite
	// of the stores tests it.
	beside []string
}{
	{dir: "functions/internal/memo"},
	{dir: "functions/internal/opaque", beside: []string{apikey}},
	{dir: apikey},
	{dir: "functions/internal/brake"},
	{dir: "functions/internal/account", beside: []string{stores, sqlite}},
	{dir: "functions/internal/grant"},
	{dir: "functions/internal/ratelimit", beside: []string{stores, sqlite}},
	{dir: "functions/internal/usage", beside: []string{stores, settle, authorizer, sqlite}},
	{dir: "functions/internal/admission", beside: []string{settle, authorizer}},
	{dir: settle},
	{dir: authorizer},
	{dir: "functions/internal/outbound"},
	{dir: "functions/internal/aws/brake"},
	{dir: sqlite},
	{dir: dynamo, files: []string{"admit.go", "failure.go", "refund.go", "seen.go", "transact.go", "usage.go"}},
}

const (
	apikey     = "functions/internal/apikey"
	stores     = "functions/internal/store/storetest"
	settle     = "functions/internal/handler/settle"
	authorizer = "functions/internal/handler/authorizer"
	sqlite     = "functions/internal/sqlite"
	dynamo     = "functions/internal/aws/dynamo"
)

//go:embed accepted.txt
var acceptedText string

func main() {
	limit := flag.Duration("for", time.Hour, "`time` to spend; what is left then is not tried")
	only := flag.String("only", "", "the `package`s whose path holds this")
	match := flag.String("match", "", "the mutants whose line in accepted.txt would match this `regexp`")
	sample := flag.Int("sample", 1, "try each `N`th mutant only")
	flag.Parse()
	if err := run(*limit, *only, *match, *sample); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(limit time.Duration, only, match string, sample int) error {
	wanted, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(limit)
	accepted, err := readAccepted(acceptedText)
	if err != nil {
		return err
	}
	var total tally
	known := map[string]bool{}
	for _, scope := range scopes {
		if !strings.Contains(scope.dir, only) {
			continue
		}
		p, err := load(scope.dir, scope.files, scope.beside)
		if err != nil {
			return err
		}
		for _, m := range p.mutants {
			known[m.key] = true
		}
		t, err := p.try(deadline, func(number int, key string) bool { return number%sample == 0 && wanted.MatchString(key) }, accepted)
		if err != nil {
			return fmt.Errorf("%s: %w", scope.dir, err)
		}
		fmt.Printf("%-40s %s\n", scope.dir, t)
		total.add(t)
	}
	fmt.Printf("%-40s %s\n", "all", total)
	for key := range accepted {
		if only == "" && !known[key] {
			total.stale++
			fmt.Println("accepted.txt names a fault that can't be made any more:", key)
		}
	}
	if total.survived > 0 || total.stale > 0 {
		return fmt.Errorf("%d survive that are not in accepted.txt, and %d of its lines are out of date", total.survived, total.stale)
	}
	return nil
}

// tally counts what became of mutants.
type tally struct{ made, killed, invalid, accepted, survived, untried, stale int }

func (t *tally) add(o tally) {
	t.made += o.made
	t.killed += o.killed
	t.invalid += o.invalid
	t.accepted += o.accepted
	t.survived += o.survived
	t.untried += o.untried
	t.stale += o.stale
}

func (t tally) String() string {
	return fmt.Sprintf("%4d made, %4d killed, %3d do not build, %3d accepted, %3d survived, %d not tried", t.made, t.killed, t.invalid, t.accepted, t.survived, t.untried)
}

// readAccepted reads lines of a key, " # " and a reason.
func readAccepted(text string) (map[string]string, error) {
	accepted := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " # ")
		if at < 0 || strings.TrimSpace(line[at+3:]) == "" {
			return nil, fmt.Errorf("accepted.txt: no reason in %q", line)
		}
		accepted[strings.TrimSpace(line[:at])] = strings.TrimSpace(line[at+3:])
	}
	return accepted, nil
}

// load reads a package and makes its mutants.
func load(dir string, files, beside []string) (*pkg, error) {
	p := &pkg{dir: dir, tests: append([]string{dir}, beside...), text: map[string]string{}}
	if len(files) == 0 {
		all, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range all {
			if !strings.HasSuffix(file, "_test.go") {
				files = append(files, filepath.Base(file))
			}
		}
	}
	if own, _ := filepath.Glob(filepath.Join(dir, "*_test.go")); len(own) == 0 {
		p.tests = beside
	}
	slices.Sort(files)
	for _, file := range files {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := find(path, string(text))
		if err != nil {
			return nil, err
		}
		p.text[path] = string(text)
		p.mutants = append(p.mutants, found...)
	}
	return p, nil
}
