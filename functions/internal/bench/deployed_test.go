package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

// settings are how a function is deployed: what Terraform plans for envs/dev.
type settings struct {
	memoryMB int
	env      map[string]string
}

var planned map[string]settings

// deployed are the settings of every function, by its name in the contract.
func (r *run) deployed() map[string]settings {
	r.Helper()
	if planned != nil {
		return planned
	}
	root, err := repository.Root()
	r.must(err)
	dir, err := os.MkdirTemp("", "sekisho-bench")
	r.must(err)
	defer os.RemoveAll(dir)
	r.must(stack.Checkout(root, dir))
	dist := filepath.Join(dir, "dist")
	r.must(os.Mkdir(dist, 0o755))
	functions, err := stack.Functions(dir)
	r.must(err)
	r.must(stack.PlaceholderZips(dir, dist, functions))
	s, err := stack.New(stack.Where{Checkout: dir, Env: "envs/dev", Cloud: r.cloud().Environment(), Variables: map[string]any{
		"dist":     dist,
		"backends": map[string]any{"external": map[string]any{"url": "https://api.example.com/v1"}},
	}})
	r.must(err)
	r.must(s.Init(r, r.Context()))
	plan, err := s.Plan(r, r.Context())
	r.must(err)
	all := map[string]settings{}
	for _, resource := range plan.ResourcePlannedValuesMap {
		name, _ := resource.AttributeValues["function_name"].(string)
		if resource.Type != "aws_lambda_function" {
			continue
		}
		f := settings{env: map[string]string{}}
		memory, _ := resource.AttributeValues["memory_size"].(float64)
		f.memoryMB = int(memory)
		if blocks, _ := resource.AttributeValues["environment"].([]any); len(blocks) > 0 {
			variables, _ := blocks[0].(map[string]any)["variables"].(map[string]any)
			for variable, value := range variables {
				f.env[variable], _ = value.(string)
			}
		}
		all[name[strings.LastIndex(name, "-")+1:]] = f
	}
	if all["mcp"].memoryMB == 0 || all["authorizer"].env["SEKISHO_PLANS"] == "" {
		r.Fatalf("the plan has no functions as this reads it: %v", all)
	}
	planned = all
	return all
}

// runtimeOnly are the variables by which a deployment tunes Go's runtime, such as GOGC.
func (s settings) runtimeOnly() map[string]string {
	own := map[string]string{}
	for name, value := range s.env {
		if strings.HasPrefix(name, "GO") {
			own[name] = value
		}
	}
	return own
}

// pairs are NAME=value, sorted.
func pairs(env map[string]string) []string {
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// mebibytes reads GOMEMLIMIT as Terraform writes it: 409MiB.
func mebibytes(limit string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSuffix(limit, "MiB"), 10, 64)
	return n << 20, err == nil && strings.HasSuffix(limit, "MiB")
}
