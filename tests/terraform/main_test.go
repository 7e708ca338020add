package terraform_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sekisho/tests/awsfake"
	"sekisho/tests/program"
	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

var update = flag.Bool("update", false, "write the files that these tests compare with")

// everything that the tests of this binary share: one cloud, the top of the repository, and
// the program that serves what was applied.
var (
	root   string
	cloud  *awsfake.Cloud
	binary program.Program
)

func TestMain(m *testing.M) { program.Main(m, &binary, prepareCloud) }

func prepareCloud(string) (end func(), err error) {
	if root, err = repository.Root(); err != nil {
		return nil, err
	}
	if cloud, err = awsfake.Start(); err != nil {
		return nil, err
	}
	return cloud.Stop, nil
}

// checkout copies the Terraform of this repository, with placeholder zips, after change has
// had its way with the copy. It returns the copy and the directory of the zips.
func checkout(t *testing.T, change func(dir string)) (dir, dist string) {
	t.Helper()
	dir = t.TempDir()
	must(t, stack.Checkout(root, dir))
	if change != nil {
		change(dir)
	}
	dist = filepath.Join(dir, "dist")
	must(t, os.Mkdir(dist, 0o755))
	functions, err := stack.Functions(dir)
	must(t, err)
	must(t, stack.PlaceholderZips(dir, dist, functions))
	return dir, dist
}

// prepare makes an environment of a checkout ready and initialises it.
func prepare(t *testing.T, dir, env string, variables map[string]any) *stack.Stack {
	t.Helper()
	s, err := stack.New(stack.Where{Checkout: dir, Env: env, Cloud: cloud.Environment(), Variables: variables})
	must(t, err)
	timed(t, "init "+env, func() error { return s.Init(t, t.Context()) })
	return s
}

// timed runs one step, logs how long it took, and ends the test when it failed.
func timed(t *testing.T, what string, step func() error) {
	t.Helper()
	start := time.Now()
	err := step()
	t.Logf("%s: %.1f s", what, time.Since(start).Seconds())
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
