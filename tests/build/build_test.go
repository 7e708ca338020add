// Package build_test tests what `make build` promises: zips that Lambda can run, and the same
// bytes from the same source wherever it is checked out.
package build_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

// functions are the ones to build: one with the AWS SDK, and the one that reports its version.
// All functions are linked alike.
var functions = []string{"authorizer", "mcp"}

func TestBuildIsReproducible(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "a", "path of another length")
	for _, tree := range []string{"functions", "scripts"} {
		if err := os.CopyFS(filepath.Join(elsewhere, tree), os.DirFS(filepath.Join(root, tree))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(elsewhere, file), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := build(t, root), build(t, root), build(t, elsewhere)
	for _, name := range functions {
		if first[name] != second[name] {
			t.Errorf("%s.zip: %s, and built again %s", name, first[name], second[name])
		}
		if first[name] != third[name] {
			t.Errorf("%s.zip: %s, and built on another path %s", name, first[name], third[name])
		}
	}
}

// build builds the functions of a tree, checks each zip and returns their hashes.
func build(t *testing.T, tree string) map[string]string {
	t.Helper()
	dist := t.TempDir()
	command := exec.Command(filepath.Join(tree, "scripts", "build"), append([]string{dist}, functions...)...)
	command.Dir = tree
	command.Env = append(os.Environ(), "SEKISHO_VERSION=test") // the copied tree is not a git checkout
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("scripts/build in %s: %v: %s", tree, err, out)
	}
	sums := map[string]string{}
	for _, name := range functions {
		path := filepath.Join(dist, name+".zip")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		sums[name] = hex.EncodeToString(sum[:])
		checkZip(t, path)
	}
	return sums
}

// checkZip expects an executable called bootstrap and the default contract, with fixed dates. The
// authorizer has a part of it.
func checkZip(t *testing.T, path string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if len(archive.File) != 2 || archive.File[0].Name != "bootstrap" || archive.File[1].Name != "contract.json" {
		t.Fatalf("%s holds %d files, want bootstrap and contract.json", path, len(archive.File))
	}
	for i, mode := range []os.FileMode{0o755, 0o644} {
		if got := archive.File[i].Mode(); got != mode {
			t.Errorf("%s: %s has mode %v, want %v", path, archive.File[i].Name, got, mode)
		}
		if epoch := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC); !archive.File[i].Modified.Equal(epoch) {
			t.Errorf("%s: %s is of %s, want %s whenever it was built", path, archive.File[i].Name, archive.File[i].Modified, epoch)
		}
	}
	checkELF(t, path, read(t, archive.File[0]))
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join(root, stack.Contract))
	if err != nil {
		t.Fatal(err)
	}
	held := read(t, archive.File[1])
	if filepath.Base(path) == "authorizer.zip" {
		if base := baseOf(t, committed); len(held)*8 > len(committed) || baseOf(t, held) != base || base == "" {
			t.Errorf("%s holds %s", path, held)
		}
	} else if !bytes.Equal(held, committed) {
		t.Errorf("%s holds another contract than %s", path, stack.Contract)
	}
}

// baseOf is the hash of the base that a contract was merged with.
func baseOf(t *testing.T, contract []byte) string {
	t.Helper()
	var c struct {
		Base string `json:"x-sekisho-base"`
	}
	if err := json.Unmarshal(contract, &c); err != nil {
		t.Fatal(err)
	}
	return c.Base
}

func read(t *testing.T, file *zip.File) []byte {
	t.Helper()
	opened, err := file.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	content, err := io.ReadAll(opened)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// checkELF expects an executable for arm64 that needs no shared libraries.
func checkELF(t *testing.T, path string, content []byte) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer file.Close()
	if file.Machine != elf.EM_AARCH64 || file.Type != elf.ET_EXEC {
		t.Errorf("%s: bootstrap is for %v, %v; want an executable for arm64", path, file.Machine, file.Type)
	}
	if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("%s: bootstrap wants the libraries %v (%v)", path, libraries, err)
	}
}
