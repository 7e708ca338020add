package apigateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"go.uber.org/zap"

	"sekisho/functions/internal/laptop/lambda"
)

// unauthorized is the error with which an authorizer says 401, to the letter
// (AGW/apigateway-use-lambda-authorizer.html).
const unauthorized = "Unauthorized"

// describedAuthorizer finds the function that the description names as authorizer, "" when
// it names none: the contract leaves that to Terraform. One whose answers are cached is
// refused, because this gateway asks every time and would hide that.
func (g *Gateway) describedAuthorizer(description []byte) (string, error) {
	var doc struct {
		Components struct {
			SecuritySchemes map[string]struct {
				Authorizer struct {
					URI string   `json:"authorizerUri"`
					TTL *float64 `json:"authorizerResultTtlInSeconds"`
				} `json:"x-amazon-apigateway-authorizer"`
			} `json:"securitySchemes"`
		} `json:"components"`
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		return "", fmt.Errorf("security schemes: %w", err)
	}
	found := ""
	for name, scheme := range doc.Components.SecuritySchemes {
		a := scheme.Authorizer
		if a.URI == "" {
			continue
		}
		if a.TTL == nil || *a.TTL != 0 {
			return "", fmt.Errorf("security scheme %s: the answers of its authorizer are cached, so calls would not be counted; set authorizerResultTtlInSeconds to 0", name)
		}
		if found = g.config.Functions.Find(functionInURI(a.URI)); found == "" {
			return "", fmt.Errorf("security scheme %s: its authorizer %s is not among the functions (%s)", name, a.URI, g.functionNames())
		}
	}
	return found, nil
}

// authorize asks the authorizer, every time: nothing is cached. The error is a *refusal. The
// call has the authorizer's context afterwards, of a Deny too.
func (g *Gateway) authorize(c *call) error {
	if len(g.methodARN(c)) > maxMethodARN {
		return &refusal{kind: "DEFAULT_4XX", status: http.StatusRequestURITooLong, message: "Request URI too long"}
	}
	payload, err := json.Marshal(g.authorizerEvent(c))
	if err != nil {
		return refuseAuthorizerFailure()
	}
	began := g.now()
	raw, err := g.config.Functions.Invoke(g.authorizer, payload, c.route.limit)
	c.authorizerLatency = g.now().Sub(began)
	if err != nil {
		return g.authorizerError(c, err)
	}
	answer, err := parseAuthorizerAnswer(raw)
	if err != nil {
		g.log.Error("authorizer gave no valid answer", zap.String("request_id", c.extendedID), zap.Error(err))
		return refuseAuthorizerAnswer()
	}
	c.authorizer = answer.context
	switch answer.policy.evaluate(g.methodARN(c)) {
	case allow:
		return nil
	case explicitDeny:
		return refuseDenied(true)
	default:
		return refuseDenied(false)
	}
}

func (g *Gateway) authorizerError(c *call, err error) error {
	var failed *lambda.Failure
	if errors.As(err, &failed) && failed.Message == unauthorized {
		return refuseUnauthorized()
	}
	g.log.Error("authorizer failed", zap.String("request_id", c.extendedID), zap.Error(err))
	return refuseAuthorizerFailure()
}

// authorizerAnswer is the answer of an authorizer, checked.
type authorizerAnswer struct {
	policy *policyDocument
	// context has the values as strings, and principalId beside them.
	context map[string]string
}

// parseAuthorizerAnswer reads and checks an answer (AGW/api-gateway-lambda-authorizer-output.html):
// principal and policy are required, values of the context are strings, numbers or booleans.
func parseAuthorizerAnswer(raw []byte) (*authorizerAnswer, error) {
	var a struct {
		PrincipalID    string          `json:"principalId"`
		PolicyDocument *policyDocument `json:"policyDocument"`
		Context        map[string]any  `json:"context"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&a); err != nil {
		return nil, fmt.Errorf("not the JSON of an authorizer: %w", err)
	}
	if a.PrincipalID == "" {
		return nil, errors.New("principalId is missing")
	}
	if a.PolicyDocument == nil || len(a.PolicyDocument.Statement) == 0 {
		return nil, errors.New("policyDocument has no statement")
	}
	context := map[string]string{"principalId": a.PrincipalID}
	for name, value := range a.Context {
		switch v := value.(type) {
		case string:
			context[name] = v
		case json.Number:
			context[name] = v.String()
		case bool:
			context[name] = strconv.FormatBool(v)
		default:
			return nil, fmt.Errorf("context value %q is neither a string nor a number nor a boolean", name)
		}
	}
	return &authorizerAnswer{policy: a.PolicyDocument, context: context}, nil
}
