package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const code = `package p

import "time"

const (
	most = 90
	wait = 3 * time.Second
)

func f(n int, s []string) (int, error) {
	for i := 0; i < n; i++ {
		total += i
	}
	switch {
	case n > 1 && ok:
		mu.Lock()
		send(n)
	}
	if err := g(); err != nil {
		return 0, err
	}
	return make([]int, n+1)[0] + 1, nil
}
`

// TestFaults: what is made of each kind of code, and what is left alone because it would change nothing.
func TestFaults(t *testing.T) {
	found, err := find("p.go", code)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, m := range found {
		have[strings.TrimPrefix(m.key, "p.go ")] = true
	}
	for _, want := range []string{
		"most: 90 → 91", "f: i < n → never", "f: i < n → <=", "f: total += i → gone", "f: n > 1 && ok → always", "f: n > 1 && ok → never", "f: n > 1 && ok → ||",
		"f: n > 1 → >=", "f: send(n) → gone", "f: err != nil → never", "f: return 0, err → no error", "f: make([]int, n+1)[0] + 1 → make([]int, n+1)[0] - 1",
	} {
		if !have[want] {
			t.Errorf("there is no %s", want)
		}
	}
	for key := range have {
		for _, not := range []string{"wait", "Lock", "i++", "n+1 →", "nil → no error"} {
			if strings.Contains(key, not) {
				t.Errorf("%s changes nothing that a test could see", key)
			}
		}
	}
}

// TestWeaving: all faults stand in one text side by side, and without a number it is the old code.
func TestWeaving(t *testing.T) {
	found, err := find("p.go", code)
	if err != nil {
		t.Fatal(err)
	}
	live := map[int]mutant{}
	for i, m := range found {
		if m.live {
			live[i+1] = m
		}
	}
	woven := weave(code, live)
	if _, err := parser.ParseFile(token.NewFileSet(), "p.go", woven, 0); err != nil {
		t.Errorf("%v in\n%s", err, woven)
	}
	if strings.Count(woven, "\n") != strings.Count(code, "\n") {
		t.Error("the compiler's complaints would name other lines")
	}
	for number := range live {
		n := strings.Count(woven, fmt.Sprintf("mutant(%d)", number)) + strings.Count(woven, fmt.Sprintf("mutantShift(%d)", number))
		if n < 1 || n > 2 {
			t.Errorf("mutant %d stands there %d times", number, n)
		}
	}
	if strings.Contains(woven, "№") || weave(code, nil) != code {
		t.Error("the text is not what it was")
	}
}

// TestAccepted: each accepted survivor is a fault that can still be made.
func TestAccepted(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "..", ".."))
	accepted, err := readAccepted(acceptedText)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, scope := range scopes {
		p, err := load(scope.dir, scope.files, scope.beside)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.mutants {
			known[m.key] = true
		}
	}
	for key := range accepted {
		if !known[key] {
			t.Errorf("accepted.txt has a fault that can't be made any more: %s", key)
		}
	}
}
