package toolsearch_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"sekisho/functions/internal/toolsearch"
)

var update = flag.Bool("update", false, "write testdata/operations.tsv from the packages in SEKISHO_DESCRIPTIONS")

// descriptions are the OpenAPI descriptions that the questions are about, within node_modules.
var descriptions = map[string]string{
	"github": "@octokit/openapi/generated/api.github.com.json",
	"figma":  "@figma/rest-api-spec/openapi/openapi.yaml",
}

// everything allows every document.
func everything(int) bool { return true }

// TestRecall asks the questions of testdata/questions.tsv, and wants an operation that answers
// among the first five. It always does so with the names and summaries of
// testdata/operations.tsv; with SEKISHO_DESCRIPTIONS, a directory of node_modules, also with the
// descriptions themselves; and with SEKISHO_IMPORTED, a directory, with what `sekisho import`
// made of them, github.yaml and figma.yaml, where descriptions are cut. More is found where more
// is said.
func TestRecall(t *testing.T) {
	t.Run("summaries", func(t *testing.T) { recall(t, readOperations(t), 0.8) })
	if packages := os.Getenv("SEKISHO_DESCRIPTIONS"); packages != "" {
		t.Run("descriptions", func(t *testing.T) {
			apis := map[string][]toolsearch.Document{}
			for api, file := range descriptions {
				apis[api] = readDescription(t, filepath.Join(packages, file), nil)
			}
			recall(t, apis, 0.9)
			if *update {
				writeOperations(t, apis)
			}
		})
	}
	if imported := os.Getenv("SEKISHO_IMPORTED"); imported != "" {
		t.Run("imported", func(t *testing.T) {
			apis := map[string][]toolsearch.Document{}
			for api, operations := range readOperations(t) {
				names := map[string]string{}
				for _, d := range operations {
					names[d.Method+" "+d.Path] = d.Name
				}
				apis[api] = readDescription(t, filepath.Join(imported, api+".yaml"), names)
			}
			recall(t, apis, 0.8)
		})
	}
}

// recall wants the operations of at least this part of each API's questions.
func recall(t *testing.T, apis map[string][]toolsearch.Document, least float64) {
	t.Helper()
	counts := map[string]*count{}
	indexes := map[string]*toolsearch.Index{}
	for api, documents := range apis {
		indexes[api] = toolsearch.New(documents)
	}
	for _, q := range readTSV(t, "testdata/questions.tsv") {
		api, set, kind, question, expected := q[0], q[1], q[2], q[3], strings.Fields(q[4])
		if !slices.ContainsFunc(apis[api], func(d toolsearch.Document) bool { return slices.Contains(expected, d.Name) }) {
			t.Logf("%s, %s: not asked, since no tool does it: %s (%s)", api, set, question, q[4])
			continue
		}
		rank := 0
		for i, found := range indexes[api].Find(question, 10, everything) {
			if slices.Contains(expected, apis[api][found].Name) {
				rank = i + 1
				break
			}
		}
		for _, group := range []string{api + " " + set, api + " " + kind, api + " all"} {
			if counts[group] == nil {
				counts[group] = &count{}
			}
			counts[group].add(rank)
		}
		if rank == 0 || rank > 5 {
			t.Logf("%s, %s: rank %d: %s (%s)", api, set, rank, question, q[4])
		}
	}
	for _, group := range []string{"github tune", "github held", "github fresh", "github near", "github far", "github all", "figma all"} {
		t.Logf("%-13s %s", group, counts[group])
	}
	for _, api := range []string{"github", "figma"} {
		if c := counts[api+" all"]; c.at5 < least*c.asked {
			t.Errorf("%s: recall@5 is %.3f, less than %g", api, c.at5/c.asked, least)
		}
	}
}

// count is how many questions were asked, and answered by the first, the first five or ten.
type count struct{ asked, at1, at5, at10 float64 }

func (c *count) add(rank int) {
	c.asked++
	for most, n := range map[int]*float64{1: &c.at1, 5: &c.at5, 10: &c.at10} {
		if rank > 0 && rank <= most {
			*n++
		}
	}
}

func (c *count) String() string {
	return fmt.Sprintf("%3.0f questions, recall@1 %.2f, @5 %.2f, @10 %.2f", c.asked, c.at1/c.asked, c.at5/c.asked, c.at10/c.asked)
}

// readDescription reads an OpenAPI description. names gives those of an imported contract their
// former names, by the routes that they were imported from; operations that are no tools are left
// out.
func readDescription(t *testing.T, file string, names map[string]string) (documents []toolsearch.Document) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type operation struct {
		OperationID          string `json:"operationId" yaml:"operationId"`
		Summary, Description string
		Source               string `json:"x-sekisho-source" yaml:"x-sekisho-source"`
		Sekisho              struct {
			Tool bool
		} `json:"x-sekisho" yaml:"x-sekisho"`
	}
	var description struct {
		Paths map[string]map[string]any
	}
	if filepath.Ext(file) == ".yaml" {
		err = yaml.Unmarshal(text, &description)
	} else {
		err = json.Unmarshal(text, &description)
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range description.Paths {
		for method, value := range item {
			var o operation
			if encoded, err := yaml.Marshal(value); err != nil || yaml.Unmarshal(encoded, &o) != nil || o.OperationID == "" {
				continue // parameters of the path
			}
			d := toolsearch.Document{Name: o.OperationID, Method: strings.ToUpper(method), Path: path, Summary: o.Summary, Description: o.Description}
			if names != nil {
				d.Name = names[o.Source]
				if !o.Sekisho.Tool {
					continue
				}
			}
			documents = append(documents, d)
		}
	}
	slices.SortFunc(documents, func(a, b toolsearch.Document) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path+a.Method, b.Path+b.Method))
	})
	return documents
}

const operationsFile = "testdata/operations.tsv"

func readOperations(t testing.TB) map[string][]toolsearch.Document {
	t.Helper()
	apis := map[string][]toolsearch.Document{}
	for _, line := range readTSV(t, operationsFile) {
		apis[line[0]] = append(apis[line[0]], toolsearch.Document{Name: line[1], Method: line[2], Path: line[3], Summary: line[4]})
	}
	return apis
}

func writeOperations(t *testing.T, apis map[string][]toolsearch.Document) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# Names, routes and summaries of GitHub's and Figma's operations, from the npm packages @octokit/openapi 23.0.2
# (MIT License, Copyright (c) 2020 Octokit contributors) and @figma/rest-api-spec 0.43.0 (MIT License, Copyright (c) 2023 Figma). Made by
# go test ./functions/internal/toolsearch -run Recall -update, with SEKISHO_DESCRIPTIONS set.
# api	operation	method	path	summary
`)
	for _, api := range []string{"figma", "github"} {
		for _, d := range apis[api] {
			fmt.Fprintln(&b, strings.Join([]string{api, d.Name, d.Method, d.Path, d.Summary}, "\t"))
		}
	}
	if err := os.WriteFile(operationsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readTSV reads lines of five columns.
func readTSV(t testing.TB, file string) (lines [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 5 {
			t.Fatalf("%s: %d columns in %q", file, len(columns), line)
		}
		lines = append(lines, columns)
	}
	return lines
}
