package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTableStandsAlone: what a function runs with, and whether the brake stops it, is written in
// base.yaml and tools.yaml and nowhere else: no memory or timeout in Terraform's variables, no list of
// functions that are spared, no table of figures in Go.
func TestTableStandsAlone(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..", "..")
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".terraform", ".cache", "node_modules", "testdata", "dist", "bin"}, entry.Name()) {
			return fs.SkipDir
		}
		extension := filepath.Ext(path)
		if extension != ".go" && extension != ".tf" || filepath.Base(path) == "table_test.go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, copied := range api.copies(extension, source) {
			t.Errorf("%s: %s: read it from the contract's x-sekisho-functions", path, copied)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopiesAreFound: the ways in which the table was written a second time before.
func TestCopiesAreFound(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]int{
		`locals { calendar = { memory_mb = 256 } }`:                                            1,
		`never_braked = ["authorizer", "account", "settle", "brake"]`:                          1,
		`names = concat(["authorizer", "settle"], local.served)`:                               0,
		`variable "runtime" { type = object({ memory_mb = optional(number, 256) }) }`:          0,
		"package p\nvar spared = []string{\"authorizer\", \"account\", \"settle\"}":            1,
		"package p\nvar spared = []string{Authorizer, Settle, \"account\", BrakeFunction}":     1,
		"package p\nvar timeouts = map[string]int{Settle: 30 * time.Second, \"mcp\": 28 * s}":  1,
		"package p\nvar memory = map[string]int64{\"authorizer\": 256, \"mcp\": 256}":          1,
		"package p\nvar billed = map[string]int64{\"authorizer\": 15, \"mcp\": 60}":            0,
		"package p\nvar builders = map[string]f{Authorizer: a, Settle: s, \"account\": build}": 0,
	} {
		extension := ".tf"
		if strings.HasPrefix(source, "package") {
			extension = ".go"
		}
		if found := api.copies(extension, []byte(source)); len(found) != want {
			t.Errorf("%s: found %q, want %d", source, found, want)
		}
	}
}

var (
	figure = regexp.MustCompile(`\b(memory_mb|timeout_seconds)\s*=\s*\d+`)
	list   = regexp.MustCompile(`\[[^\[\]]*\]`)
	quoted = regexp.MustCompile(`"([a-z_-]+)"`)
)

// copies finds what repeats the table: figures, lists of three spared functions or more, and
// figures of two functions or more that are the table's.
func (a *API) copies(extension string, source []byte) (found []string) {
	if extension == ".tf" {
		for _, m := range figure.FindAll(source, -1) {
			found = append(found, string(m))
		}
		for _, m := range list.FindAll(source, -1) {
			var names []string
			for _, q := range quoted.FindAllSubmatch(m, -1) {
				names = append(names, string(q[1]))
			}
			if a.spared(names) >= 3 {
				found = append(found, string(m))
			}
		}
		return found
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok {
			if names, figures := a.read(literal); a.spared(names) >= 3 || figures >= 2 {
				found = append(found, fmt.Sprintf("line %d", set.Position(literal.Pos()).Line))
			}
		}
		return true
	})
	return found
}

func (a *API) spared(names []string) (n int) {
	for _, name := range names {
		if slices.Contains(a.NeverBraked(), name) {
			n++
		}
	}
	return n
}

// read takes the names in a list, and counts the members of a map whose figure is the table's.
func (a *API) read(literal *ast.CompositeLit) (names []string, figures int) {
	for _, element := range literal.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			names = append(names, functionName(element))
			continue
		}
		f, ok := a.functions.named[functionName(pair.Key)]
		if n := number(pair.Value); ok && (n == f.MemoryMB || n == int64(f.Timeout/time.Second)) {
			figures++
		}
	}
	return names, figures
}

// functionName of a string, or of a constant that is called after the function.
func functionName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		name, _ := strconv.Unquote(e.Value)
		return name
	case *ast.Ident:
		return strings.TrimSuffix(strings.ToLower(e.Name), "function")
	case *ast.SelectorExpr:
		return functionName(e.Sel)
	}
	return ""
}

// number that an expression such as 28 * time.Second begins with; -1 where there is none.
func number(e ast.Expr) int64 {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return number(e.X)
	case *ast.BasicLit:
		if n, err := strconv.ParseInt(e.Value, 10, 64); err == nil {
			return n
		}
	}
	return -1
}
