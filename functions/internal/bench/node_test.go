package bench

import (
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"

	"sekisho/tests/npm"
	"sekisho/tests/repository"
)

// node is Node with the packages that tests/bench/node pins.
type node struct{ program, sources, modules string }

// node finds it. The error says what is missing.
func (r *run) node() (n node, err error) {
	r.Helper()
	root, err := repository.Root()
	r.must(err)
	installed, err := npm.Install("tests/bench/node")
	return node{installed.Node(), filepath.Join(root, "tests", "bench", "node"), installed.Modules}, err
}

// bundle makes one file of a program and all that it imports, as one would for Lambda.
func (n node) bundle(name, dir string) (string, error) {
	out := filepath.Join(dir, name+".mjs")
	command := exec.Command(n.program, filepath.Join(n.modules, "esbuild", "bin", "esbuild"), filepath.Join(n.sources, name+".mjs"),
		"--bundle", "--platform=node", "--target=node22", "--format=esm", "--minify", "--outfile="+out,
		// Packages in the older form ask for require.
		`--banner:js=import{createRequire}from"node:module";const require=createRequire(import.meta.url);`)
	command.Env = append(os.Environ(), "NODE_PATH="+n.modules)
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("esbuild %s: %w: %.300s", name, err, said)
	}
	return out, nil
}

// nodePrograms are the same two functions as one would write them in TypeScript.
func (f *functions) nodePrograms(at *httptest.Server) ([]runnable, error) {
	n, err := f.node()
	if err != nil {
		return nil, err
	}
	var programs []runnable
	for _, name := range []string{"authorizer", "mcp"} {
		bundle, err := n.bundle(name, f.dir)
		if err != nil {
			return nil, err
		}
		p := f.runnable(name, at)
		p.name, p.command = "Node, "+name, []string{n.program, bundle}
		p.env = maps.Clone(p.env)
		p.env["NODE_ENV"] = "production"
		programs = append(programs, p)
	}
	return programs, nil
}
