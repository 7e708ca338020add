package suite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

// described is what the suite reads of the contract, so that new functions, tools and their
// examples are covered without changes here.
type described struct {
	root map[string]any
}

func readContract(t testing.TB) described {
	t.Helper()
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, stack.Contract))
	if err != nil {
		t.Fatal(err)
	}
	var d described
	if err := yaml.Unmarshal(raw, &d.root); err != nil {
		t.Fatal(err)
	}
	return d
}

// operations calls visit for each operation.
func (d described) operations(visit func(operation map[string]any)) {
	for _, item := range object(d.root["paths"]) {
		for _, operation := range object(item) {
			if o := object(operation); o["operationId"] != nil {
				visit(o)
			}
		}
	}
}

// business lists the functions that a refused call must not start: those with an operation
// that takes units.
func (d described) business() []string {
	var names []string
	d.operations(func(o map[string]any) {
		sekisho := object(o["x-sekisho"])
		if units, _ := sekisho["units"].(int); units > 0 {
			names = append(names, sekisho["function"].(string))
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// example returns a JSON object with the examples of a tool's required arguments; ok is false
// if one has none or there is no such tool.
func (d described) example(tool string) (arguments string, ok bool) {
	d.operations(func(o map[string]any) {
		if id, _ := o["operationId"].(string); strings.ReplaceAll(id, ".", "_") != tool {
			return
		}
		args := map[string]any{}
		ok = true
		for _, p := range list(o["parameters"]) {
			if p = d.follow(p); object(p)["required"] == true {
				ok = d.addExample(args, object(p)["name"].(string), object(p)["schema"]) && ok
			}
		}
		content := object(object(object(o["requestBody"])["content"])["application/json"])
		body := object(d.follow(content["schema"]))
		for _, name := range list(body["required"]) {
			ok = d.addExample(args, name.(string), object(body["properties"])[name.(string)]) && ok
		}
		encoded, err := json.Marshal(args)
		arguments, ok = string(encoded), ok && err == nil
	})
	return arguments, ok
}

func (d described) addExample(args map[string]any, name string, schema any) bool {
	s := object(d.follow(schema))
	if args[name] = s["example"]; args[name] == nil {
		if values := list(s["enum"]); len(values) > 0 {
			args[name] = values[0]
		}
	}
	return args[name] != nil
}

// follow resolves {$ref: "#/…"}.
func (d described) follow(v any) any {
	path, ok := object(v)["$ref"].(string)
	if !ok {
		return v
	}
	var at any = d.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "#/"), "/") {
		at = object(at)[step]
	}
	return at
}

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

func list(v any) []any { l, _ := v.([]any); return l }
