package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// program is a main package of functions/.
type program struct{ name, path string }

// programs are the Lambda functions and the command line.
func programs(root string) ([]program, error) {
	out, err := list(root, nil, "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, "./functions/...")
	if err != nil {
		return nil, err
	}
	var all []program
	for _, path := range strings.Fields(string(out)) {
		if !strings.Contains(path, "/internal/") { // tools of the tests
			all = append(all, program{filepath.Base(path), path})
		}
	}
	return all, nil
}

func (p program) lambda() bool { return !strings.Contains(p.path, "/cmd/") }

// component is something that others made.
type component struct {
	kind, name, version, purl string
	licences                  []string // SPDX identifiers
}

func (c component) url() string { return "pkg:" + c.purl + "/" + c.name + "@" + c.version }

// linked are the modules whose packages are linked into a program, Go's own library, and what is
// embedded.
func (p program) linked(root string) ([]component, error) {
	args, env := []string{"-deps", "-json=Dir,Standard,Module", p.path}, []string(nil)
	if p.lambda() { // as scripts/build does
		args, env = append([]string{"-tags", "lambda.norpc"}, args...), []string{"GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0"}
	}
	out, err := list(root, env, args...)
	if err != nil {
		return nil, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std := component{kind: "library", name: "std", version: strings.TrimPrefix(runtime.Version(), "go"), purl: "golang"}
	std.licences, err = licencesIn(strings.TrimSpace(string(goroot)))
	if err != nil {
		return nil, err
	}
	found := map[string]component{"": std}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var pkg struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&pkg); err != nil {
			return nil, err
		}
		switch {
		case pkg.Standard || pkg.Module == nil:
			continue
		case pkg.Module.Main:
			for _, e := range embedded {
				if filepath.Join(pkg.Module.Dir, e.dir) == pkg.Dir {
					found[e.name] = e.component
				}
			}
			continue
		}
		c, known := found[pkg.Module.Path]
		if !known {
			c = component{kind: "library", name: pkg.Module.Path, version: pkg.Module.Version, purl: "golang"}
		}
		licences, err := licencesFor(pkg.Dir, pkg.Module.Dir)
		if err != nil {
			return nil, err
		}
		c.licences = append(c.licences, licences...)
		slices.Sort(c.licences)
		c.licences = slices.Compact(c.licences)
		found[pkg.Module.Path] = c
	}
	var all []component
	for _, c := range found {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.url(), b.url()) })
	return all, nil
}

// embedded is what packages of this module hold of others. Versions and licences are in the README
// of scripts/data and beside the page's files.
var embedded = []struct {
	dir string
	component
}{
	{"functions/internal/handler/page", component{"library", "uplot", "1.6.32", "npm", []string{"MIT"}}},
	{"functions/internal/tools/calendar", component{"data", "%40holiday-jp/holiday_jp", "2.5.1", "npm", []string{"MIT"}}},
	{"functions/internal/tools/postal", component{"data", "jquery-jpostal-ja", "2.14.73", "npm", []string{"MIT"}}},
}

func list(root string, env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, complaint.String())
	}
	return out, nil
}
