package terraform_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	tablesBegin = "<!-- inputs and outputs: go test ./tests/terraform -run TestReadmes -update -->\n"
	tablesEnd   = "<!-- end -->\n"
)

// TestReadmes compares the tables in each module's README with its variables and outputs;
// with -update it writes them.
func TestReadmes(t *testing.T) {
	for _, module := range modules(t) {
		t.Run(filepath.Base(module), func(t *testing.T) {
			path := filepath.Join(module, "README.md")
			raw, err := os.ReadFile(path)
			must(t, err)
			before, rest, ok := strings.Cut(string(raw), tablesBegin)
			have, after, ok2 := strings.Cut(rest, tablesEnd)
			if !ok || !ok2 {
				t.Fatalf("%s has no place for its tables: a line %q and a line %q", path, tablesBegin, tablesEnd)
			}
			want, err := tables(module)
			must(t, err)
			if *update {
				must(t, os.WriteFile(path, []byte(before+tablesBegin+want+tablesEnd+after), 0o644))
			} else if have != want {
				t.Errorf("the tables in %s are not those of its .tf files: go test ./tests/terraform -run TestReadmes -update", path)
			}
		})
	}
}

// TestReadmeExamples plans the example of every module's README.
func TestReadmeExamples(t *testing.T) {
	t.Parallel()
	dir, _ := checkout(t, nil)
	environment := filepath.Join(dir, "envs", "examples")
	must(t, os.Mkdir(environment, 0o755))
	names := map[string]bool{}
	for _, module := range modules(t) {
		raw, err := os.ReadFile(filepath.Join(module, "README.md"))
		must(t, err)
		name := filepath.Base(module)
		for _, example := range fenced.FindAllStringSubmatch(string(raw), -1) {
			names[name] = true
			text := strings.NewReplacer(
				`"./modules/`, `"../../modules/`,
				`"functions/internal/`, `"../../functions/internal/`,
				`"dist/`, `"../../dist/`,
			).Replace(example[1])
			must(t, os.WriteFile(filepath.Join(environment, name+".tf"), []byte(text), 0o644))
		}
		if !names[name] {
			t.Errorf("%s/README.md has no example", name)
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, ".terraform.lock.hcl"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(environment, ".terraform.lock.hcl"), lock, 0o644))
	must(t, os.WriteFile(filepath.Join(environment, "provider.tf"), []byte("provider \"aws\" {\n  region = \"us-east-1\"\n}\n"), 0o644))

	plan, err := prepare(t, dir, "envs/examples", nil).Plan(t, t.Context())
	must(t, err)
	planned := map[string]bool{}
	for address := range plan.ResourcePlannedValuesMap {
		planned[strings.Split(address, ".")[1]] = true
	}
	for name := range names {
		// A module without resources has an output.
		if output := plan.RawPlan.PlannedValues.Outputs[name]; !planned[name] && (output == nil || output.Value == nil) {
			t.Errorf("the example of %s makes nothing", name)
		}
	}
}

var fenced = regexp.MustCompile("(?s)```hcl\n(.*?)```")

func modules(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(root, "modules", "*"))
	must(t, err)
	if len(list) == 0 {
		t.Fatal("no modules")
	}
	return list
}

// declaration is a variable or an output of a module.
type declaration struct {
	name, description, kind, fallback string
	required                          bool
}

// tables writes the two tables of a module in Markdown.
func tables(module string) (string, error) {
	variables, outputs, err := declarations(module)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n## Inputs\n\n| Name | What it is | Type | Default |\n| --- | --- | --- | --- |\n")
	for _, v := range variables {
		fallback := "required"
		if !v.required {
			fallback = "`" + v.fallback + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s |\n", v.name, cell(v.description), cell(oneLine(v.kind)), fallback)
	}
	b.WriteString("\n## Outputs\n\n| Name | What it is |\n| --- | --- |\n")
	for _, o := range outputs {
		fmt.Fprintf(&b, "| %s | %s |\n", o.name, cell(o.description))
	}
	b.WriteString("\n")
	return b.String(), nil
}

// cell makes a text fit for one cell of a table. The items of a list keep their lines.
func cell(text string) string {
	items := strings.Split(text, "\n  - ")
	for i, item := range items {
		items[i] = strings.Join(strings.Fields(item), " ")
	}
	return strings.ReplaceAll(strings.Join(items, "<br>- "), "|", `\|`)
}

// oneLine writes a type that stands on several lines as it would stand on one.
func oneLine(kind string) string {
	var b strings.Builder
	for _, line := range strings.Split(kind, "\n") {
		line = strings.TrimSpace(line)
		switch so := b.String(); {
		case so == "" || line == "":
		case strings.HasSuffix(so, "{") || strings.HasPrefix(line, "}"):
			b.WriteString(" ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func declarations(module string) (variables, outputs []declaration, err error) {
	files, err := filepath.Glob(filepath.Join(module, "*.tf"))
	if err != nil {
		return nil, nil, err
	}
	parser := hclparse.NewParser()
	for _, name := range files {
		file, diagnostics := parser.ParseHCLFile(name)
		if diagnostics.HasErrors() {
			return nil, nil, diagnostics
		}
		for _, block := range file.Body.(*hclsyntax.Body).Blocks {
			switch block.Type {
			case "variable":
				variables = append(variables, declare(file, block))
			case "output":
				outputs = append(outputs, declare(file, block))
			}
		}
	}
	for _, list := range [][]declaration{variables, outputs} {
		sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	}
	return variables, outputs, nil
}

func declare(file *hcl.File, block *hclsyntax.Block) declaration {
	source := func(attribute string) (string, bool) {
		a, ok := block.Body.Attributes[attribute]
		if !ok {
			return "", false
		}
		return string(a.Expr.Range().SliceBytes(file.Bytes)), true
	}
	d := declaration{name: block.Labels[0]}
	if a, ok := block.Body.Attributes["description"]; ok {
		if value, diagnostics := a.Expr.Value(nil); !diagnostics.HasErrors() {
			d.description = value.AsString()
		}
	}
	d.kind, _ = source("type")
	var given bool
	d.fallback, given = source("default")
	d.required = !given
	return d
}

// TestEnvironments: dev and prod differ in values, provider and backend only.
func TestEnvironments(t *testing.T) {
	for _, name := range []string{"main.tf", "variables.tf", "outputs.tf"} {
		shared, err := os.ReadFile(filepath.Join(root, "envs/dev", name))
		must(t, err)
		path := filepath.Join(root, "envs/prod", name)
		if *update {
			must(t, os.WriteFile(path, shared, 0o644))
		}
		have, err := os.ReadFile(path)
		must(t, err)
		if string(have) != string(shared) {
			t.Errorf("%s is not that of dev: go test ./tests/terraform -run TestEnvironments -update", path)
		}
	}
}

// attributes of an object: terraform fmt sets those of the first level in by four.
var attributes = regexp.MustCompile(`(?m)^    (\w+) += `)

// TestDeclarations: each variable has a type, each variable and output a description, which
// names every attribute of an object, and a module takes ten variables or fewer.
func TestDeclarations(t *testing.T) {
	roots := modules(t)
	for _, env := range []string{".", "envs/dev", "envs/prod", "envs/account"} {
		roots = append(roots, filepath.Join(root, env))
	}
	for _, module := range roots {
		variables, outputs, err := declarations(module)
		must(t, err)
		for _, d := range append(variables, outputs...) {
			if d.description == "" {
				t.Errorf("%s: %s has no description", module, d.name)
			}
		}
		for _, v := range variables {
			if v.kind == "" {
				t.Errorf("%s: variable %s has no type", module, v.name)
			}
			for _, attribute := range attributes.FindAllStringSubmatch(v.kind, -1) {
				if !strings.Contains(v.description, attribute[1]) {
					t.Errorf("%s: the description of %s does not say what %s is", module, v.name, attribute[1])
				}
			}
		}
		if strings.Contains(module, "modules") && len(variables) > 10 {
			t.Errorf("%s takes %d variables: split it, or group them into objects", module, len(variables))
		}
	}
}
