package gateway_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sekisho/functions/internal/gateway"
)

// elsewhere are the folders and files in which a name of the wire means something else.
var elsewhere = map[string]string{
	"cmd/sekisho":                            "the command line's own JSON and CSV",
	"internal/aws/dynamo":                    "attributes of items",
	"internal/backend/shown.go":              "members of an answer as MCP shows it",
	"internal/contract":                      "members of the description",
	"internal/handler/account":               "members of the API's answers",
	"internal/handler/relay/answer.go":       "members of an answer that says what became of a write",
	"internal/handler/settle/tell.go":        "members of a message to subscribers",
	"internal/laptop/apigateway/template.go": "API Gateway's names of its variables",
	"internal/laptop/upstream":               "parameters of the stand-in for an upstream",
	"internal/openapi":                       "members of foreign descriptions, and of the report on them",
	"internal/oauth":                         "parameters of OAuth",
	"internal/outbound":                      "upstreams, and the report of a probe",
	"internal/problem":                       "members of a problem",
	"internal/store/storetest":               "what the suite draws",
	"internal/trace/otlp":                    "members of OTLP's JSON",
	"internal/tools":                         "arguments of tools, and a unit of length",
	"internal/mcpserver":                     "JSON-RPC and MCP",
}

// TestNamesOfTheWireAreWrittenOnce: whoever reads or writes the authorizer's context, the access
// record or the stage variables does so by the types of this package. Keys of log lines are
// free.
func TestNamesOfTheWireAreWrittenOnce(t *testing.T) {
	wire := slices.Concat(
		slices.Collect(maps.Keys(gateway.AccessLogFormat())),
		slices.Collect(maps.Keys(gateway.ContextVariables().Values())),
		slices.Collect(maps.Keys(gateway.NotStarted{}.Variables("unavailable"))),
	)
	needed := map[string]bool{}
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if name == "internal/gateway" {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		for _, found := range wireLiterals(t, path, wire) {
			if place := means(name); place != "" {
				needed[place] = true
				continue
			}
			t.Errorf("%s:%s: take it from the package gateway", name, found)
		}
		return nil
	})
	for place := range elsewhere {
		if !needed[place] {
			t.Errorf("%s has no name of the wire: take it off the list", place)
		}
	}
	if err != nil || files < 50 {
		t.Errorf("%d files read: %v", files, err)
	}
}

// means is the entry of elsewhere that a file belongs to, empty for none.
func means(file string) string {
	for place := range elsewhere {
		if file == place || strings.HasPrefix(file, place+"/") {
			return place
		}
	}
	return ""
}

// wireLiterals finds strings and struct tags that spell a name.
func wireLiterals(t *testing.T, path string, wire []string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	report := func(n ast.Node, text string) {
		found = append(found, strconv.Itoa(set.Position(n.Pos()).Line)+" has "+text)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isLogField(call) {
			for _, argument := range call.Args[1:] {
				ast.Inspect(argument, func(n ast.Node) bool { reportLiteral(n, wire, report); return true })
			}
			return false
		}
		reportLiteral(n, wire, report)
		return true
	})
	return found
}

// isLogField: zap.String("key_id", …) and its like.
func isLogField(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) < 2 {
		return false
	}
	in, ok := selector.X.(*ast.Ident)
	return ok && in.Name == "zap"
}

func reportLiteral(n ast.Node, wire []string, report func(ast.Node, string)) {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	for _, name := range wire {
		switch {
		case text == name, strings.Contains(text, `json:"`+name+`"`), strings.Contains(text, `json:"`+name+`,`),
			strings.Contains(text, "authorizer."+name), strings.Contains(text, "$."+name),
			strings.Contains(text, "stageVariables."+name):
			report(n, literal.Value)
			return
		}
	}
}
