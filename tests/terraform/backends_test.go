package terraform_test

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"sekisho/tests/terraform/stack"
)

const (
	orderToken = "arn:aws:secretsmanager:us-east-1:123456789012:secret:orders-AbCdEf"
	orderKey   = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000"
	stockARN   = "arn:aws:lambda:us-east-1:123456789012:function:stock:prod"
)

// ordersCheckout is a checkout with a contract of somebody's own.
func ordersCheckout(t *testing.T) (dir, dist string) {
	t.Helper()
	return checkout(t, func(dir string) {
		if out, code := binary.Run(t, nil, "contract", filepath.Join("testdata", "orders.yaml"), "-o", filepath.Join(dir, stack.Contract)); code != 0 {
			t.Fatal(out)
		}
	})
}

// TestBackends: each backend is a function of the same program, which knows where its own secrets
// are, may read these and invoke its own function, and nothing else.
func TestBackends(t *testing.T) {
	t.Parallel()
	dir, dist := ordersCheckout(t)
	s := prepare(t, dir, "envs/dev", map[string]any{"dist": dist, "backends": map[string]any{
		"orders": map[string]any{
			"auth":            map[string]any{"type": "header", "name": "X-Api-Key", "secret_arn": orderToken, "kms_key_arn": orderKey},
			"signing":         map[string]any{"parameter": "/sekisho-dev/signing"},
			"rate_per_second": 2, "burst": 4, "timeout_seconds": 10, "private": true,
			"vpc": map[string]any{"subnet_ids": []string{"subnet-1"}, "security_group_ids": []string{"sg-1"}},
		},
		"stock": map[string]any{"function_arn": stockARN},
	}})
	plan, err := s.Plan(t, t.Context())
	must(t, err)
	p, err := read(plan, dir)
	must(t, err)
	for name, want := range map[string]struct {
		settings map[string]any
		grants   []string
		vpc      bool
	}{
		"orders": {
			map[string]any{
				"name": "orders", "url": "https://api.example.com/v2", "rate_per_second": 2.0, "burst": 4.0, "timeout_seconds": 10.0, "private": true,
				"auth":    map[string]any{"type": "header", "name": "X-Api-Key", "secret_arn": orderToken},
				"signing": map[string]any{"parameter": "/sekisho-dev/signing"},
			},
			[]string{
				"dynamodb:GetItem table/sekisho-dev-usage bucket#", "dynamodb:UpdateItem table/sekisho-dev-usage bucket#",
				"kms:Decrypt key/00000000-0000-4000-8000-000000000000", "secretsmanager:GetSecretValue secret:orders-AbCdEf", "ssm:GetParameter parameter/aws/reference/secretsmanager/orders", "ssm:GetParameter parameter/sekisho-dev/signing",
			}, true,
		},
		"stock": {map[string]any{"name": "stock", "function_arn": stockARN}, []string{"lambda:InvokeFunction function:stock:prod"}, false},
	} {
		at := functionModule(name)
		zip, _ := p.value(at+"aws_lambda_function.this", "filename").(string)
		if filepath.Base(zip) != "relay.zip" {
			t.Errorf("%s runs %s", name, zip)
		}
		environment, _ := p.block(at+"aws_lambda_function.this", "environment")["variables"].(map[string]any)
		var settings map[string]any
		text, _ := environment["SEKISHO_BACKEND"].(string)
		must(t, json.Unmarshal([]byte(text), &settings))
		if !reflect.DeepEqual(settings, want.settings) {
			t.Errorf("%s: the settings are %v, want %v", name, settings, want.settings)
		}
		policy, _ := p.value(at+"aws_iam_role_policy.this", "policy").(string)
		have, err := allowed(policy)
		must(t, err)
		have = slices.DeleteFunc(have, func(grant string) bool { return strings.HasPrefix(grant, "logs:") })
		vpc := len(have)
		have = slices.DeleteFunc(have, func(grant string) bool { return strings.HasPrefix(grant, "ec2:") })
		sort.Strings(have)
		if !slices.Equal(have, want.grants) || (vpc > len(have)) != want.vpc || (p.block(at+"aws_lambda_function.this", "vpc_config") != nil) != want.vpc {
			t.Errorf("%s may do %q, want %q, with a network: %v", name, have, want.grants, want.vpc)
		}
	}
	var routes []string
	for path, item := range p.body.Paths {
		for method, op := range item {
			if function := served(op); function == "orders" || function == "stock" {
				routes = append(routes, verb(method)+" "+path+" "+function)
			}
		}
	}
	sort.Strings(routes)
	if want := []string{"ANY /v2/orders/{proxy+} orders", "GET /v2/orders orders", "GET /v2/stock/{id} stock"}; !slices.Equal(routes, want) {
		t.Errorf("the routes are %q, want %q", routes, want)
	}
	var ceilings struct {
		Braked    []string                  `json:"braked"`
		Functions map[string]map[string]any `json:"functions"`
	}
	must(t, p.output("ceilings", &ceilings))
	for _, name := range []string{"orders", "stock"} {
		if !slices.Contains(ceilings.Braked, name) || ceilings.Functions[name] == nil {
			t.Errorf("%s is not braked, or without a ceiling: %+v", name, ceilings)
		}
	}
	if _, ok := p.functions()["postal"]; ok {
		t.Error("the default tools are planned too")
	}
}

// TestBackendMessages: a backend without settings, and settings of another type.
func TestBackendMessages(t *testing.T) {
	t.Parallel()
	dir, dist := ordersCheckout(t)
	for says, backends := range map[string]map[string]any{
		`The contract has backends that nothing is said of: stock. Give each its settings, such as backends = { stock = { url = "https://api.example.com" } }.`: {
			"orders": map[string]any{},
		},
		"backends does not fit the contract's types: orders, stock. One of the type http takes url, one of the type lambda function_arn.": {
			"orders": map[string]any{"function_arn": stockARN}, "stock": map[string]any{"url": "https://api.example.com"},
		},
	} {
		s := prepare(t, dir, "envs/dev", map[string]any{"dist": dist, "backends": backends})
		_, err := s.Plan(t, t.Context())
		if err == nil || !strings.Contains(plain(err.Error()), plain(says)) {
			t.Errorf("%v\nwant %s", err, says)
		}
	}
}
