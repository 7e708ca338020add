package apigateway

import (
	"encoding/json"
	"errors"
	"strings"
)

// verdict of a policy on a method.
type verdict int

const (
	// implicitDeny: no statement matches.
	implicitDeny verdict = iota
	explicitDeny
	allow
)

// policyDocument is the part of an IAM policy that an authorizer's answer has.
type policyDocument struct {
	Statement []struct {
		Effect   string  `json:"Effect"`
		Action   oneMany `json:"Action"`
		Resource oneMany `json:"Resource"`
	} `json:"Statement"`
}

// oneMany is a string, or a list of strings.
type oneMany []string

func (o *oneMany) UnmarshalJSON(data []byte) error {
	var err error
	if data[0] == '[' {
		err = json.Unmarshal(data, (*[]string)(o))
	} else {
		*o = oneMany{""}
		err = json.Unmarshal(data, &(*o)[0])
	}
	if err != nil {
		return errors.New("neither a string nor a list of strings")
	}
	return nil
}

// evaluate decides execute-api:Invoke on a method. A Deny wins over any Allow, and what
// nothing allows is denied.
func (p *policyDocument) evaluate(methodARN string) verdict {
	decision := implicitDeny
	for _, s := range p.Statement {
		if !s.Action.matchesFold("execute-api:Invoke") || !s.Resource.matches(methodARN) {
			continue
		}
		switch s.Effect {
		case "Deny":
			return explicitDeny
		case "Allow":
			decision = allow
		}
	}
	return decision
}

func (o oneMany) matches(text string) bool {
	for _, pattern := range o {
		if wildcard(pattern, text) {
			return true
		}
	}
	return false
}

// matchesFold: the names of actions have no case.
func (o oneMany) matchesFold(text string) bool {
	for _, pattern := range o {
		if wildcard(strings.ToLower(pattern), strings.ToLower(text)) {
			return true
		}
	}
	return false
}

// wildcard matches a pattern of IAM: * is any number of bytes, slashes too, ? is one.
// It takes time of at most the product of the lengths.
func wildcard(pattern, text string) bool {
	p, t := 0, 0
	star, mark := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
