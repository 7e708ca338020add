package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pkg is a package and its mutants.
type pkg struct {
	dir     string
	tests   []string          // packages whose tests are run, its own first
	text    map[string]string // by path
	mutants []mutant
	scratch string // directory
	// patience is how long each of the tests may take.
	patience []time.Duration
}

// chosen is the variable that names the mutant that runs.
const chosen = "SEKISHO_MUTANT"

// chooser is compiled into the package. It reads the variable itself: package variables may hold
// mutants, and are made before any init runs.
const chooser = `package %s

import "os"

var mutantThatRuns = os.Getenv("` + chosen + `")

func mutant(number int) bool {
	n := 0
	for _, d := range mutantThatRuns {
		n = n*10 + int(d-'0')
	}
	return n == number
}

// mutantShift shifts a 1 out, unless its mutant runs.
func mutantShift(number int) int {
	if mutant(number) {
		return 0
	}
	return 64
}
`

// try runs the tests on each mutant until the deadline, on as many at once as there are processors.
func (p *pkg) try(deadline time.Time, wanted func(number int, key string) bool, accepted map[string]string) (t tally, err error) {
	if p.scratch, err = os.MkdirTemp("", "mutate"); err != nil {
		return t, err
	}
	defer os.RemoveAll(p.scratch)
	together, err := p.together()
	if err != nil {
		return t, err
	}
	for i := range p.tests {
		start := time.Now()
		if passed, out := p.test(i, "all", 0, 10*time.Minute); !passed {
			return t, fmt.Errorf("the tests of %s fail without a fault:\n%s", p.tests[i], out)
		}
		p.patience = append(p.patience, 5*time.Since(start)+3*time.Second)
	}
	var (
		running sync.WaitGroup
		slots   = make(chan struct{}, runtime.NumCPU())
		counts  sync.Mutex
	)
	for i, m := range p.mutants {
		number := i + 1
		if !wanted(number, m.key) {
			continue
		}
		t.made++
		slots <- struct{}{}
		if time.Now().After(deadline) {
			<-slots
			t.untried++
			continue
		}
		running.Go(func() {
			defer func() { <-slots }()
			_, live := together[number]
			survived, err := p.survives(number, live)
			counts.Lock()
			defer counts.Unlock()
			t.count(m, survived, err, accepted)
		})
	}
	running.Wait()
	return t, nil
}

// count notes what became of a mutant. The error is the compiler's.
func (t *tally) count(m mutant, survived bool, err error, accepted map[string]string) {
	switch _, known := accepted[m.key]; {
	case err != nil:
		t.invalid++
	case !survived && known: // or the machine was so busy that the tests took too long
		fmt.Println("noticed now, though accepted.txt has it:", m.key)
		t.killed++
	case !survived:
		t.killed++
	case known:
		t.accepted++
	default:
		t.survived++
		fmt.Printf("survived: %s:%d %s\n", m.file, m.line, strings.TrimPrefix(m.key, m.file+" "))
	}
}

// survives runs the tests on a mutant, until some fail. The error is the compiler's.
func (p *pkg) survives(number int, live bool) (bool, error) {
	set := "all"
	if !live {
		set = strconv.Itoa(number)
		defer os.RemoveAll(filepath.Join(p.scratch, set))
	}
	for i := range p.tests {
		if !live {
			if out, err := p.compile(i, set, p.alone(number)); err != nil {
				return false, fmt.Errorf("%w: %s", err, out)
			}
		}
		if passed, _ := p.test(i, set, number, p.patience[i]); !passed {
			return false, nil
		}
	}
	return true, nil
}

// together are the mutants that can be compiled into one binary. Where the compiler complains of a line,
// its mutants are left to be tried alone, the numbers first: where they stand for a fraction, they do not build.
func (p *pkg) together() (map[int]mutant, error) {
	live := map[int]mutant{}
	for i, m := range p.mutants {
		if m.live {
			live[i+1] = m
		}
	}
	for range 20 {
		out, err := p.compileAll(live)
		if err == nil {
			return live, nil
		}
		before := len(live)
		seen := map[string]bool{}
		for _, at := range complaint.FindAllStringSubmatch(out, -1) {
			if place := at[1] + ":" + at[2]; !seen[place] {
				seen[place] = true
				line, _ := strconv.Atoi(at[2])
				p.drop(live, at[1], line)
			}
		}
		if len(live) == before {
			return nil, fmt.Errorf("compile: %w\n%s", err, out)
		}
	}
	return nil, errors.New("compile: no set of mutants builds")
}

// drop takes the mutants of a line out, or only its numbers if it has any.
func (p *pkg) drop(live map[int]mutant, file string, line int) {
	var numbers, others []int
	for number, m := range live {
		more := strings.Count(p.text[m.file][m.start:m.end], "\n")
		if filepath.Base(m.file) != file || line < m.line || line > m.line+more || more >= 8 {
			continue
		}
		if m.by != "" {
			numbers = append(numbers, number)
		} else {
			others = append(others, number)
		}
	}
	if len(numbers) > 0 {
		others = numbers
	}
	for _, number := range others {
		delete(live, number)
	}
}

func (p *pkg) compileAll(live map[int]mutant) (string, error) {
	for i := range p.tests {
		if out, err := p.compile(i, "all", p.woven(live)); err != nil {
			return out, err
		}
	}
	return "", nil
}

var complaint = regexp.MustCompile(`(?m)([a-z0-9_]+\.go):(\d+):`)

// woven are the files with mutants in them.
func (p *pkg) woven(live map[int]mutant) map[string]string {
	files := map[string]string{}
	for path, text := range p.text {
		own := map[int]mutant{}
		for number, m := range live {
			if m.file == path {
				own[number] = m
			}
		}
		files[path] = weave(text, own)
	}
	return files
}

func (p *pkg) alone(number int) map[string]string {
	m := p.mutants[number-1]
	if m.by == "" {
		return p.woven(map[int]mutant{number: m})
	}
	text := p.text[m.file]
	return map[string]string{m.file: text[:m.start] + m.by + text[m.end:]}
}

// binary is where the tests of a package are, built with a set of mutants.
func (p *pkg) binary(test int, set string) string {
	return filepath.Join(p.scratch, set, strconv.Itoa(test))
}

// compile builds the tests of a package with files in the place of the mutants' own.
func (p *pkg) compile(test int, set string, files map[string]string) (string, error) {
	scratch := filepath.Join(p.scratch, set)
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(path, text string) error {
		full, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		replace[full] = filepath.Join(scratch, filepath.Base(path))
		return os.WriteFile(replace[full], []byte(text), 0o644)
	}
	for path, text := range files {
		if err := put(path, text); err != nil {
			return "", err
		}
		name := packageName.FindStringSubmatch(text)
		if err := put(filepath.Join(p.dir, "mutant_chooser.go"), fmt.Sprintf(chooser, name[1])); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o644); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-gcflags=-e", "-p=1", "-overlay", list, "-o", p.binary(test, set), "./"+p.tests[test]).CombinedOutput()
	return string(out), err
}

var packageName = regexp.MustCompile(`(?m)^package (\w+)`)

// test says whether the tests pass. One that hangs has noticed.
func (p *pkg) test(test int, set string, number int, patience time.Duration) (passed bool, out string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.binary(test, set), "-test.failfast", "-test.timeout="+patience.String())
	cmd.Dir, cmd.Env = p.tests[test], append(os.Environ(), chosen+"="+strconv.Itoa(number), "RAPID_NOFAILFILE=true")
	// What the tests started ends with them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	return err == nil, output.String()
}
