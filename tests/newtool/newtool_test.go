// Package newtool_test follows the README's three steps in a copy of the repository to add a
// tool on a new function. The files that it adds are in testdata.
package newtool_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/tests/awsfake"
	"sekisho/tests/program"
	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

// tools is where the default stack's operations are described.
const tools = "functions/internal/contract/tools.yaml"

func TestThreeSteps(t *testing.T) {
	root, err := repository.Root()
	must(t, err)
	tree := t.TempDir()
	copyTree(t, root, tree)

	// 1. Describe the operation.
	insert(t, filepath.Join(tree, tools), "\ntags:\n", fragment(t, "tags.yaml"))
	insert(t, filepath.Join(tree, tools), "\npaths:\n", fragment(t, "paths.yaml"))
	run(t, tree, "go", "generate", "./functions/internal/contract")

	// 2. Write the handler and its main, and name the function.
	must(t, os.CopyFS(filepath.Join(tree, "functions"), os.DirFS(filepath.Join("testdata", "functions"))))
	list := filepath.Join(tree, "functions", "internal", "handler", "handler.go")
	insert(t, list, "import (\n", "\t\"sekisho/functions/internal/handler/dice\"\n")
	insert(t, list, "return map[string]func() map[string]rest.Operation{\n", "\t\t\"dice\": dice.Operations,\n")
	run(t, tree, "go", "test", "./functions/internal/contract", "./functions/internal/handler")

	// 3. On the laptop, make up; in AWS, make build and terraform apply.
	t.Run("up", func(t *testing.T) { serve(t, tree) })
	dist := filepath.Join(tree, "dist")
	run(t, tree, "scripts/build", dist, "dice")
	t.Run("plan", func(t *testing.T) { plan(t, root, tree, dist) })
}

// serve runs the service and calls the new tool over REST and MCP.
func serve(t *testing.T, tree string) {
	binary := filepath.Join(t.TempDir(), "sekisho")
	run(t, tree, "go", "build", "-o", binary, "./functions/cmd/sekisho")
	service := program.Program(binary).Up(t, nil, t.TempDir(), "--plan", "demo=10")
	key := service.Keys["demo"]
	if body := call(t, "GET", service.APIURL+"/v1/dice/roll?count=3", key, ""); !strings.Contains(body, `"rolls":[`) {
		t.Errorf("over REST: %s", body)
	}
	if body := call(t, "POST", service.MCPURL, key, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(body, `"name":"dice_roll"`) {
		t.Errorf("it is not listed: %s", body)
	}
	message := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"dice.roll","arguments":{"count":%s}}}`
	if body := call(t, "POST", service.MCPURL, key, fmt.Sprintf(message, "2")); !strings.Contains(body, `"structuredContent":{"rolls":[`) {
		t.Errorf("over MCP: %s", body)
	}
	if body := call(t, "POST", service.MCPURL, key, fmt.Sprintf(message, "101")); !strings.Contains(body, "How many dice, 1 to 100.") {
		t.Errorf("a wrong argument: %s", body)
	}
	if body := call(t, "GET", service.APIURL+"/v1/user/usage", key, ""); !strings.Contains(body, `"monthly_used":2`) {
		t.Errorf("two good calls are two units: %s", body)
	}
}

// plan plans envs/dev: the function and its route come without a line of Terraform.
func plan(t *testing.T, root, tree, dist string) {
	cloud, err := awsfake.Start()
	must(t, err)
	defer cloud.Stop()
	functions, err := stack.Functions(tree)
	must(t, err)
	for _, name := range functions {
		if name != "dice" {
			must(t, stack.PlaceholderZips(tree, dist, []string{name}))
		}
	}
	dir := t.TempDir()
	must(t, stack.Checkout(tree, dir))
	s, err := stack.New(stack.Where{Checkout: dir, Env: "envs/dev", Cloud: cloud.Environment(), Variables: map[string]any{"dist": dist}})
	must(t, err)
	must(t, s.Init(t, t.Context()))
	planned, err := s.Plan(t, t.Context())
	must(t, err)
	if _, ok := planned.ResourcePlannedValuesMap[`module.sekisho.module.function["dice"].aws_lambda_function.this`]; !ok {
		t.Error("the function is not planned")
	}
	api := planned.ResourcePlannedValuesMap["module.sekisho.module.api.aws_api_gateway_rest_api.this"]
	if body, _ := api.AttributeValues["body"].(string); !strings.Contains(body, ":function:sekisho-dev-dice:live/invocations") {
		t.Error("no route leads to it")
	}
}

// copyTree copies what make and terraform need, without the tests outside functions.
func copyTree(t *testing.T, root, tree string) {
	t.Helper()
	for _, part := range []string{"functions", "scripts", "modules"} {
		must(t, os.CopyFS(filepath.Join(tree, part), os.DirFS(filepath.Join(root, part))))
	}
	must(t, stack.Checkout(root, tree))
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(tree, name), content, 0o644))
	}
}

func fragment(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	return string(content)
}

// insert puts text behind a place in a file.
func insert(t *testing.T, path, place, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	before, after, ok := strings.Cut(string(content), place)
	if !ok {
		t.Fatalf("%s has no %q: correct this test, and step 1 or 2 in the README", path, place)
	}
	must(t, os.WriteFile(path, []byte(before+place+text+after), 0o644))
}

func run(t *testing.T, dir string, command ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir = dir
	// Without the paths of the copy, which is elsewhere each time, what it compiles to is in the cache.
	c.Env = append(os.Environ(), "SEKISHO_VERSION=test", "GOFLAGS=-trimpath")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", command, err, out)
	}
}

func call(t *testing.T, method, url, key, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	request.Header.Set("x-api-key", key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	must(t, err)
	return string(content)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
