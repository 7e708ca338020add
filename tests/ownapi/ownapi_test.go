// Package ownapi_test puts a meter before an API as an engineer would, in a repository of their
// own: example holds what they write, and this repository is the module that they use.
package ownapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/tests/awsfake"
	"sekisho/tests/program"
	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

// repo is the engineer's repository, after the commands of its README up to `terraform init`.
type repo struct {
	dir      string
	contract string // as it is in the zips
	stack    *stack.Stack
	cloud    *awsfake.Cloud
}

var binary program.Program

func TestMain(m *testing.M) { program.Main(m, &binary) }

// override changes what a test needs otherwise, in a file of its own: main.tf stays as it is.
const override = `
module "sekisho" {
  source   = "git::file://%s?ref=v1.0.0"
  plans    = { demo = { monthly = 3 } }
  tables   = { deletion_protection = false }
  backends = { orders = { url = "%s/v2", private = true, auth = { type = "bearer", parameter = "/orders-meter/token" } } }
}
`

func newRepo(t *testing.T, backend string) *repo {
	t.Helper()
	root, err := repository.Root()
	must(t, err)
	top := t.TempDir()
	r := &repo{dir: filepath.Join(top, "repository")}
	must(t, os.CopyFS(r.dir, os.DirFS("example")))
	r.cloud, err = awsfake.Start()
	must(t, err)
	t.Cleanup(r.cloud.Stop)

	release := filepath.Join(top, "release")
	must(t, stack.Checkout(root, release))
	for _, command := range []string{"init -q", "add -A", "-c user.name=t -c user.email=t@example.com commit -qm v1.0.0", "tag v1.0.0"} {
		run(t, release, "git", strings.Fields(command)...)
	}
	must(t, os.WriteFile(filepath.Join(r.dir, "test_override.tf"), fmt.Appendf(nil, override, release, backend), 0o644))
	lock, err := os.ReadFile(filepath.Join(root, ".terraform.lock.hcl"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(r.dir, ".terraform.lock.hcl"), lock, 0o644))

	r.followReadme(t)
	r.stack, err = stack.New(stack.Where{Checkout: top, Env: "repository", Cloud: r.cloud.Environment()})
	must(t, err)
	must(t, r.stack.Init(t, t.Context()))
	return r
}

// followReadme runs the commands of the example's README, or what comes to the same here.
func (r *repo) followReadme(t *testing.T) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("example", "README.md"))
	must(t, err)
	_, block, ok := strings.Cut(string(readme), "```sh\n")
	block, _, closed := strings.Cut(block, "```")
	if !ok || !closed {
		t.Fatal("the README has no commands")
	}
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		switch {
		case words[0] == "git", words[0] == "make", words[0] == "terraform":
		case words[0] == "sekisho/bin/sekisho":
			run(t, r.dir, string(binary), words[1:]...)
		case strings.Contains(line, "scripts/build"): // the zips are not run here, but their contract is
			r.build(t)
		case words[0] == "aws":
			r.putToken(t, words)
		default:
			t.Fatalf("the README has a command that this test does not know: %s", line)
		}
	}
}

func (r *repo) build(t *testing.T) {
	t.Helper()
	merged := filepath.Join(t.TempDir(), stack.Contract)
	must(t, os.MkdirAll(filepath.Dir(merged), 0o755))
	run(t, r.dir, string(binary), "contract", "api.yaml", "-o", merged)
	dir := strings.TrimSuffix(merged, stack.Contract)
	dist := filepath.Join(r.dir, "dist")
	must(t, os.MkdirAll(dist, 0o755))
	functions, err := stack.Functions(dir)
	must(t, err)
	must(t, stack.PlaceholderZips(dir, dist, append(functions, "brake")))
	r.contract = filepath.Join(dist, "contract.json")
}

// putToken is `aws ssm put-parameter`.
func (r *repo) putToken(t *testing.T, words []string) {
	t.Helper()
	client := ssm.New(ssm.Options{
		Region: awsfake.Region, BaseEndpoint: &r.cloud.Endpoint,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	name := ""
	for i, word := range words {
		if word == "--name" {
			name = words[i+1]
		}
	}
	_, err := client.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Type: ssmtypes.ParameterTypeSecureString, Value: aws.String(token)})
	must(t, err)
}

// TestReadme: the README at the top shows the example's own files, and its command for a laptop works.
func TestReadme(t *testing.T) {
	readme := read(t, "../../README.md")
	_, commands, _ := strings.Cut(read(t, "example/README.md"), "```sh\n")
	commands, _, _ = strings.Cut(commands, "```")
	for _, block := range []string{"```sh\n" + commands + "```", "```hcl\n" + read(t, "example/main.tf") + "```"} {
		if !strings.Contains(readme, block) {
			t.Errorf("the README has not\n%s", block)
		}
	}
	_, line, _ := strings.Cut(readme, "$ bin/sekisho up --api ")
	line, _, _ = strings.Cut(line, "\n")
	line, credential, _ := strings.Cut(strings.TrimSuffix(line, "'"), " '")
	backend := httptest.NewServer(&ordersAPI{})
	defer backend.Close()
	line = strings.NewReplacer("https://api.example.com", backend.URL, "openapi.json", "example/openapi.json").Replace(line)
	served := binary.Up(t, []string{"TOKEN=" + token}, t.TempDir(), append(append([]string{"--api"}, strings.Fields(line)...), credential)...)
	for plan, key := range served.Keys {
		if text := callTool(t, connect(t, served.MCPURL, key), "orders_get_order", `{"orderId":"o_1"}`); !strings.Contains(text, `"status":"open"`) {
			t.Errorf("%s: %s", plan, text)
		}
	}
	if len(served.Keys) == 0 {
		t.Error("no keys were made")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	must(t, err)
	return string(text)
}

// TestPlan: the module plans as a child of somebody else's root, with their contract and zips.
func TestPlan(t *testing.T) {
	r := newRepo(t, "http://127.0.0.1:1")
	plan, err := r.stack.Plan(t, t.Context())
	must(t, err)
	if _, ok := plan.ResourcePlannedValuesMap[`module.sekisho.module.function["orders"].aws_lambda_function.this`]; !ok {
		t.Error("the backend's function is not planned")
	}
	if _, ok := plan.ResourcePlannedValuesMap[`module.sekisho.module.function["postal"].aws_lambda_function.this`]; ok {
		t.Error("the default tools are planned too")
	}
	api := plan.ResourcePlannedValuesMap["module.sekisho.module.api.aws_api_gateway_rest_api.this"]
	if body, _ := api.AttributeValues["body"].(string); !strings.Contains(body, `/orders/{orderId}/refunds`) {
		t.Error("the route is not in the description that API Gateway gets")
	}
}

// TestApply: what was applied lists, calls, refunds and limits, for a client that knows nothing of it.
func TestApply(t *testing.T) {
	if os.Getenv("SEKISHO_OWNAPI") == "" {
		t.Skip("scripts/prove applies the example: set SEKISHO_OWNAPI=yes")
	}
	orders := &ordersAPI{}
	backend := httptest.NewServer(orders)
	defer backend.Close()
	r := newRepo(t, backend.URL)
	started := time.Now()
	_, err := r.stack.Plan(t, t.Context())
	must(t, err)
	must(t, r.stack.Apply(t, t.Context()))
	t.Logf("plan and apply: %.1f s", time.Since(started).Seconds())

	printed, err := r.stack.Printed(t, t.Context())
	must(t, err)
	applied := filepath.Join(t.TempDir(), "applied.json")
	must(t, os.WriteFile(applied, printed, 0o600))
	outputs, err := r.stack.Outputs(t, t.Context())
	must(t, err)
	served := binary.Up(t, r.cloud.Variables(), t.TempDir(), "--applied", applied, "--contract", r.contract)
	sekisho := binary.On(r.cloud.Variables(), "--accounts-table", outputs.Tables["accounts"], "--usage-table", outputs.Tables["usage"],
		"--plans", outputs.Applied.Functions["authorizer"].Environment["SEKISHO_PLANS"])
	var made struct{ Key string }
	must(t, json.Unmarshal([]byte(sekisho(t, "keys", "create", "--user", "ann", "--plan", "demo", "--json")), &made))
	r.callEverything(t, connect(t, served.MCPURL, made.Key), orders)
	must(t, r.stack.Destroy(t, t.Context()))
}

func (r *repo) callEverything(t *testing.T, session *mcp.ClientSession, orders *ordersAPI) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	must(t, err)
	listed := map[string]bool{}
	for _, tool := range list.Tools {
		listed[tool.Name] = true
	}
	if !listed["orders_get_order"] || !listed["customers_search_customers"] || listed["postal_lookup"] || listed["orders_attach_file"] {
		t.Errorf("listed are %v", listed)
	}
	call := func(tool, arguments, want string) {
		t.Helper()
		if text := callTool(t, session, tool, arguments); !strings.Contains(text, want) {
			t.Errorf("%s %s: %s, want %s", tool, arguments, text, want)
		}
	}
	call("orders_get_order", `{"orderId":"o_1"}`, `"status":"open"`)
	call("orders_get_order", `{"orderId":"o_9"}`, `"error":"backend_refused"`)
	waitFor(t, func() bool {
		return strings.Contains(callTool(t, session, "utility_get_usage", `{}`), `"monthly_used":1,`)
	})
	call("orders_list_orders", `{"status":["open","shipped"],"created":{"from":"2026-01-01"},"limit":2,"x_request_id":"r1"}`, `"orders":[]`)
	if got, want := orders.last(), "GET /v2/orders?status=open,shipped&created%5Bfrom%5D=2026-01-01&limit=2 r1"; got != want {
		t.Errorf("the backend saw %s, want %s", got, want)
	}
	call("orders_label_order", `{"orderId":"o_1","body":["gift"]}`, `["gift"]`)
	call("orders_get_order", `{"orderId":"o_1"}`, `"error":"limit_exceeded"`)
}

func callTool(t *testing.T, session *mcp.ClientSession, tool, arguments string) (text string) {
	t.Helper()
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	must(t, err)
	for _, part := range got.Content {
		if part, ok := part.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text
}

const token = "0123456789abcdef"

// ordersAPI is the engineer's backend.
type ordersAPI struct {
	mu   sync.Mutex
	seen string
}

func (o *ordersAPI) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen
}

func (o *ordersAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.seen = fmt.Sprint(r.Method, " ", r.URL.RequestURI(), " ", r.Header.Get("X-Request-Id"))
	o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch path := r.Method + " " + r.URL.Path; {
	case r.Header.Get("Authorization") != "Bearer "+token:
		w.WriteHeader(http.StatusUnauthorized)
	case path == "GET /v2/orders/o_1":
		io.WriteString(w, `{"id":"o_1","status":"open"}`)
	case path == "GET /v2/orders":
		io.WriteString(w, `{"orders":[],"next_cursor":null}`)
	case path == "PUT /v2/orders/o_1/labels":
		io.Copy(w, r.Body)
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"title":"There is none."}`)
	}
}

func connect(t *testing.T, url, key string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "ownapi", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withKey(key)}}, nil)
	must(t, err)
	t.Cleanup(func() { _ = session.Close() }) // the service may have ended it
	return session
}

// withKey sends a key with each request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("x-api-key", string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatal("the failed call was not refunded")
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
