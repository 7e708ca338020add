package terraform_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestMessages plans what is wrong and reads the message as a newcomer would: it must say
// what is allowed, or what to do. (Lines of a message are wrapped, so spaces don't count.)
func TestMessages(t *testing.T) {
	t.Parallel()
	plans, plansNamed := refusedPlans(t)
	for _, wrong := range []struct {
		name      string
		variables map[string]any
		breakIt   func(dir, dist string) error
		messages  []string
	}{
		{
			name: "variables", // each with all that is wrong with it, in one plan
			variables: map[string]any{
				"name":              "a-stack-whose-name-is-much-too-long-for-a-role",
				"plans":             plans,
				"alerts":            map[string]any{"usage_percent": []int{100, 80}},
				"account":           map[string]any{"permissions_boundary": "boundary", "role_path": "service", "kms_key_arn": "alias/x"},
				"functions":         map[string]any{"calendar": map[string]any{"architecture": "sparc"}, "calender": map[string]any{}},
				"cost":              map[string]any{"emails": []string{"finance at example.com"}, "actual_percent": []int{50, 1001}},
				"concurrency_quota": 0.5,
				"backends": map[string]any{
					"a": map[string]any{"url": "http://user:SECRET@api.example.com", "timeout_seconds": 60, "burst": 3},
					"b": map[string]any{"function_arn": "orders"},
					"c": map[string]any{"auth": map[string]any{"type": "header", "parameter": "/a", "secret_arn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:x-AbCdEf"}, "bust": 1},
					"d": map[string]any{"signing": map[string]any{"parameter": "arn:aws:ssm:us-east-1:123456789012:parameter/x"}},
					"e": map[string]any{"url": "https://user:SECRET@api.example.com", "auth": map[string]any{"type": "bearer", "parameter": "arn:aws:ssm:us-east-1:123456789012:parameter/x"}},
				},
			},
			messages: append([]string{
				"name takes 3 to 32 lower-case letters, digits and hyphens",
				"a role's name has no more than 64",
				"plans.<name>.monthly and plans.<name>.daily take whole units from 0 to 1000000000000; leave them out for no limit. Not so:",
				"plans.<name>.per_second takes calls per second from 0.001 to 10000; leave it out for any rate. Not so: rate-above-most.per_second = 10000.5,",
				"plans.<name>.burst takes whole calls from 1 to 100000, and goes with per_second. Not so: burst-above-most.burst = 100001,",
				"alerts.usage_percent takes up to 5 whole percentages from 1 to 100, in ascending order and each once, such as [80, 100]; not [100, 80].",
				"account.permissions_boundary takes the ARN of a policy: arn:aws:iam::ACCOUNT:policy/NAME.",
				"account.role_path begins and ends with a slash, such as /service/.",
				"account.kms_key_arn takes the ARN of a KMS key, not of an alias.",
				"architecture is arm64 or x86_64",
				"functions names what is not a function: calender. There are account, authorizer, calendar,",
				"emails takes addresses such as finance@example.com. Not one: finance at example.com.",
				"take percentages above 0 and up to 1000 of the monthly budget",
				"concurrency_quota takes the account's quota as a whole number",
				"backends.<name>.url takes an https:// address without credentials, query and fragment",
				"backends.<name>.function_arn takes the ARN of a function, such as arn:aws:lambda:us-east-1:123456789012:function:orders",
				"header and query need a name, of the header or the query parameter",
				"name one place each where the secret is: parameter or secret_arn.",
				"parameter takes the name of a parameter, such as /sekisho/orders-token: not its ARN, and not the secret",
				"timeout_seconds takes 1 to 25 seconds, since the gateway waits for 29; rate_per_second calls per second from 0.001 to 1000, and burst, which goes with it",
			}, plansNamed...),
		},
		{
			name:      "zips of another contract",
			variables: map[string]any{},
			breakIt: func(_, dist string) error {
				file, err := os.OpenFile(filepath.Join(dist, "contract.json"), os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					return err
				}
				defer file.Close()
				_, err = file.WriteString("\n")
				return err
			},
			messages: []string{"hold another contract than", "contract.json. Run `make build`, with CONTRACT=FILE for a contract of your own, and plan again."},
		},
		{
			name:      "no build",
			variables: map[string]any{},
			breakIt:   func(_, dist string) error { return os.Remove(filepath.Join(dist, "contract.json")) },
			messages:  []string{"There is no", "dist/contract.json. Run `make build`"},
		},
		{
			name: "backends that the contract doesn't have, and what a module refuses",
			variables: map[string]any{
				"backends": map[string]any{"orders": map[string]any{"url": "https://api.example.com"}},
				"alerts":   map[string]any{"subscriptions": []map[string]any{{"protocol": "sms", "endpoint": "+81312345678"}}},
			},
			messages: []string{
				"backends names what is no backend of the contract: orders. There are external; add it to x-sekisho-backends, or take it out here.",
				`or "sqs" with a queue's ARN, such as arn:aws:sqs:us-east-1:123456789012:usage. Not so: {"endpoint":"+81312345678","protocol":"sms"}.`,
			},
		},
		{
			name: "reservations above a quota of 10, a missing zip, and misspelt settings",
			variables: map[string]any{
				"concurrency_quota": 10,
				"functions":         map[string]any{"calendar": map[string]any{"reserved_concurrency": 5}, "mcp": map[string]any{"memroy_mb": 1, "traffic": map[string]any{"requests_per_second": 1, "seconds": 1, "secs": 1}}},
				"api":               map[string]any{"throttle": map[string]any{"burst": 20, "rate": 10}},
				"plans":             map[string]any{"free": map[string]any{"monthly": 1000, "per_minute": 10}},
				"alerts":            map[string]any{"subscriptions": []map[string]any{{"protocol": "email", "endpoint": "you@example.com", "address": "you@example.com"}}},
			},
			breakIt: func(_, dist string) error { return os.Remove(filepath.Join(dist, "postal.zip")) },
			messages: []string{
				"The functions reserve 5 concurrent executions (calendar 5), but the quota of this account (Service Quotas L-B99A9384, Lambda concurrent executions) is 10, and Lambda keeps 100 of it unreserved: at most 0 can be reserved. Request a higher quota",
				"postal.zip. Terraform takes finished zips: run `make build`",
				"There is no such setting: alerts.subscriptions.0.address, api.throttle.rate, functions.mcp.memroy_mb, functions.mcp.traffic.secs, plans.free.per_minute.",
			},
		},
	} {
		t.Run(wrong.name, func(t *testing.T) {
			t.Parallel()
			dir, dist := checkout(t, nil)
			if wrong.breakIt != nil {
				must(t, wrong.breakIt(dir, dist))
			}
			variables := map[string]any{"dist": dist}
			for name, value := range wrong.variables {
				variables[name] = value
			}
			_, err := prepare(t, dir, "envs/dev", variables).Plan(t, t.Context())
			if err == nil {
				t.Fatal("the plan was accepted")
			}
			said := plain(err.Error())
			for _, message := range wrong.messages {
				if !strings.Contains(said, plain(message)) {
					t.Errorf("want the message %q", message)
				}
			}
			t.Log(err)
		})
	}
}

// refusedPlans are those that Go refuses, and how a message names each.
func refusedPlans(t *testing.T) (plans map[string]any, named []string) {
	raw, err := os.ReadFile(filepath.Join(root, "functions/internal/account/testdata/plans.json"))
	must(t, err)
	var table struct{ Refused map[string]any }
	must(t, json.Unmarshal(raw, &table))
	for name, parts := range table.Refused {
		if len(parts.(map[string]any)) == 0 {
			named = append(named, strconv.Quote(name)) // it is the name that is refused
		} else {
			named = append(named, name+".")
		}
	}
	return table.Refused, named
}

// plain takes out spaces and the frame that Terraform draws around a message.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\n' || r == '│' {
			return -1
		}
		return r
	}, text)
}
