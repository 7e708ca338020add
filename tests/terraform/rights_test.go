package terraform_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// callsOf is what functions call in AWS where they are deployed in certain ways, as TestAWSCalls of the
// laptop found by running them.
func callsOf(ways ...string) (map[string][]string, error) {
	raw, err := os.ReadFile(filepath.Join(root, "functions", "internal", "laptop", "testdata", "calls.json"))
	if err != nil {
		return nil, err
	}
	var all map[string]map[string][]string
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	calls := map[string][]string{}
	for _, way := range ways {
		if len(all[way]) == 0 {
			return nil, fmt.Errorf("no calls are recorded of %s", way)
		}
		for function, list := range all[way] {
			calls[function] = append(calls[function], list...)
		}
	}
	return calls, nil
}

// checkRights compares the rights of each function with its calls: a right that no call uses is one too
// many, and a call without a right fails.
func checkRights(p planned, ways ...string) (problems []string) {
	calls, err := callsOf(ways...)
	if err != nil {
		return []string{err.Error()}
	}
	for name := range p.functions() {
		have, err := p.rights(name)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", name, err))
			continue
		}
		want := append(madeByLambda(name), calls[name]...)
		if name == "brake" { // a plan doesn't know the API's ID: TestApply looks at it
			if !p.unknown(brakeModule+"aws_iam_role_policy.stage", "policy") {
				problems = append(problems, "the plan knows what the brake may do to the stage: compare it, too")
			}
			want = slices.DeleteFunc(want, func(call string) bool { return strings.HasPrefix(call, "apigateway:") })
		}
		if unused := without(have, want); len(unused) > 0 {
			problems = append(problems, fmt.Sprintf("%s may do %q, and never does", name, unused))
		}
		if missing := without(want, have); len(missing) > 0 {
			problems = append(problems, fmt.Sprintf("%s does %q, and may not", name, missing))
		}
		delete(calls, name)
	}
	for name := range calls {
		problems = append(problems, name+" makes calls, and is not planned")
	}
	return problems
}

// madeByLambda are the calls that Lambda makes in the name of a function: to write its log, and to keep
// what could not be delivered.
func madeByLambda(name string) []string {
	log := "log-group:/aws/lambda/sekisho-dev-" + name + ":*"
	calls := []string{"logs:CreateLogStream " + log, "logs:PutLogEvents " + log}
	if asynchronous[name] {
		calls = append(calls, "sqs:SendMessage sekisho-dev-"+name+"-undelivered")
	}
	return calls
}

func without(list, others []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(others, s) })
}

// rights are those of a function by all policies that a plan knows.
func (p planned) rights(name string) (rights []string, err error) {
	policies := []string{functionModule(name) + "aws_iam_role_policy.this"}
	if name == "brake" {
		policies = append(policies, brakeModule+"aws_iam_role_policy.memory")
	}
	for _, at := range policies {
		policy, _ := p.value(at, "policy").(string)
		list, err := allowed(policy)
		if err != nil {
			return nil, fmt.Errorf("%w: %q", err, policy)
		}
		rights = append(rights, list...)
	}
	slices.Sort(rights)
	return rights, nil
}

// allowed lists what a policy allows, an action and a resource a line, without the account; of tables with
// the kind of item, such as key#. A right to all items of a table is not among those that are wanted, so
// that it is noticed as it is.
func allowed(policy string) (list []string, err error) {
	var document struct {
		Statement []struct {
			Effect           string
			Action, Resource []string
			Condition        map[string]map[string][]string
		}
	}
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return nil, err
	}
	for _, statement := range document.Statement {
		effect := strings.TrimPrefix(statement.Effect+" ", "Allow ") // no denial is wanted
		kinds := []string{""}
		if len(statement.Condition) > 0 {
			if kinds, err = items(statement.Condition); err != nil {
				return nil, err
			}
		}
		for _, action := range statement.Action {
			for _, resource := range statement.Resource {
				for _, kind := range kinds {
					list = append(list, effect+action+" "+account.ReplaceAllString(resource, "")+kind)
				}
			}
		}
	}
	return list, nil
}

var account = regexp.MustCompile(`^arn:aws:[a-z]+:us-east-1:123456789012:`)

// items are the kinds of items that a condition names: the only condition that there is.
func items(condition map[string]map[string][]string) (kinds []string, err error) {
	patterns := condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
	if len(condition) != 1 || len(condition["ForAllValues:StringLike"]) != 1 || len(patterns) == 0 {
		return nil, fmt.Errorf("a condition %v, want one on dynamodb:LeadingKeys", condition)
	}
	for _, pattern := range patterns {
		kinds = append(kinds, " "+strings.ReplaceAll(pattern, "#*", "#"))
	}
	return kinds, nil
}
