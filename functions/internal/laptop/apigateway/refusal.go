package apigateway

import (
	"net/http"
	"strconv"
	"strings"

	"sekisho/functions/internal/contract"
)

// refusal ends a call without an answer of its integration. It becomes a gateway response.
type refusal struct {
	// kind is the gateway response type, such as ACCESS_DENIED.
	kind string
	// status where no gateway response names another.
	status  int
	message string
}

func (r *refusal) Error() string { return r.kind + ": " + r.message }

// Default status codes: AGW/supported-gateway-response-types.html.

func refuseUnknownRoute() *refusal {
	return &refusal{kind: "MISSING_AUTHENTICATION_TOKEN", status: http.StatusForbidden, message: "Missing Authentication Token"}
}

func refuseThrottled() *refusal {
	return &refusal{kind: "THROTTLED", status: http.StatusTooManyRequests, message: "Too Many Requests"}
}

func refuseTooLarge() *refusal {
	return &refusal{kind: "REQUEST_TOO_LARGE", status: http.StatusRequestEntityTooLarge, message: "Request Too Long"}
}

func refuseUnauthorized() *refusal {
	return &refusal{kind: "UNAUTHORIZED", status: http.StatusUnauthorized, message: "Unauthorized"}
}

func refuseDenied(explicit bool) *refusal {
	r := &refusal{kind: "ACCESS_DENIED", status: http.StatusForbidden, message: "User is not authorized to access this resource"}
	if explicit {
		r.message += " with an explicit deny"
	}
	return r
}

func refuseAuthorizerFailure() *refusal {
	return &refusal{kind: "AUTHORIZER_FAILURE", status: http.StatusInternalServerError, message: "Internal server error"}
}

func refuseAuthorizerAnswer() *refusal {
	return &refusal{kind: "AUTHORIZER_CONFIGURATION_ERROR", status: http.StatusInternalServerError, message: "Internal server error"}
}

func refuseIntegrationFailure() *refusal {
	return &refusal{kind: "INTEGRATION_FAILURE", status: http.StatusGatewayTimeout, message: "Internal server error"}
}

func refuseIntegrationTimeout() *refusal {
	return &refusal{kind: "INTEGRATION_TIMEOUT", status: http.StatusGatewayTimeout, message: "Endpoint request timed out"}
}

// refuseBadFunction is the 502 for a function that failed or answered nonsense.
func refuseBadFunction() *refusal {
	return &refusal{kind: "DEFAULT_5XX", status: http.StatusBadGateway, message: "Internal server error"}
}

// errorTypeOf is the value of x-amzn-ErrorType, as localstack/localstack collected them
// (gateway_response.py; some are marked there as not yet seen from AWS).
func errorTypeOf(r *refusal) string {
	switch r.kind {
	case "ACCESS_DENIED":
		return "AccessDeniedException"
	case "AUTHORIZER_CONFIGURATION_ERROR":
		return "AuthorizerConfigurationException"
	case "AUTHORIZER_FAILURE":
		return "AuthorizerFailureException"
	case "INTEGRATION_FAILURE":
		return "IntegrationFailureException"
	case "MISSING_AUTHENTICATION_TOKEN":
		return "MissingAuthenticationTokenException"
	case "REQUEST_TOO_LARGE":
		return "RequestTooLargeException"
	case "THROTTLED":
		return "TooManyRequestsException"
	case "UNAUTHORIZED":
		return "UnauthorizedException"
	}
	if r.status >= http.StatusInternalServerError {
		return "InternalServerErrorException"
	}
	return "BadRequestException"
}

// response finds the gateway response of a refusal: the one of its type, else the DEFAULT_
// of its hundred, else the built-in.
func (g *Gateway) response(r *refusal) contract.GatewayResponse {
	if response, ok := g.refusals[r.kind]; ok {
		return response
	}
	kind := "DEFAULT_4XX"
	if r.status >= http.StatusInternalServerError {
		kind = "DEFAULT_5XX"
	}
	return g.refusals[kind]
}

// refuse makes the answer of a refusal.
func (g *Gateway) refuse(c *call, r *refusal) *answer {
	response := g.response(r)
	a := g.newAnswer(c, r.status)
	a.refusal = r
	if status, err := strconv.Atoi(response.StatusCode); err == nil {
		a.status = status
	}
	v := &variables{gateway: g, call: c, refusal: r, status: a.status}
	accept, _ := c.lookUpHeader("Accept")
	contentType, template := pickTemplate(response.ResponseTemplates, accept)
	if contentType == "" {
		contentType, template = "application/json", `{"message":$context.error.messageString}`
	}
	a.body = substitute(template, v.lookUp)
	a.header.Set("Content-Type", contentType)
	a.header.Set("X-Amzn-Errortype", errorTypeOf(r))
	for name, source := range response.ResponseParameters {
		header, ok := strings.CutPrefix(name, "gatewayresponse.header.")
		if value := headerValue(source, v); ok && value != "" {
			a.header.Set(header, value)
		}
	}
	return a
}

// headerValue is the value that a header is mapped from: a static text in single quotes, or
// a variable without its dollar sign. It is empty for a variable that is not set.
func headerValue(source string, v *variables) string {
	if len(source) >= 2 && source[0] == '\'' && source[len(source)-1] == '\'' {
		return source[1 : len(source)-1]
	}
	if isKnownRoot(source) {
		return v.lookUp(source)
	}
	return ""
}
