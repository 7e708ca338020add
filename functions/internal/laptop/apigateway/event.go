package apigateway

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/gateway"
)

// contextPath is $context.path: that of the event, behind the stage where that is in the path.
func (c *call) contextPath() string { return c.stagePath + c.path }

// proxyEvent is what the function of a call gets.
func (g *Gateway) proxyEvent(c *call) *events.APIGatewayProxyRequest {
	return gateway.NewEvent(gateway.Call{
		Method: c.method, Resource: c.route.resource, Path: c.path, PathParameters: c.pathParams, StageVariables: c.settings.Variables,
		Headers: c.headers, Query: c.query, Body: c.body, At: c.started,
	}, g.requestContext(c))
}

func (g *Gateway) requestContext(c *call) events.APIGatewayProxyRequestContext {
	prefix, _, _ := strings.Cut(g.config.Domain, ".")
	return events.APIGatewayProxyRequestContext{
		AccountID:         accountID,
		APIID:             apiID,
		ResourceID:        c.route.resourceID,
		OperationName:     c.route.name,
		Stage:             g.config.Stage,
		DomainName:        g.config.Domain,
		DomainPrefix:      prefix,
		RequestID:         c.requestID,
		ExtendedRequestID: c.extendedID,
		Protocol:          c.protocol,
		Identity:          events.APIGatewayRequestIdentity{SourceIP: c.sourceIP, UserAgent: c.userAgent},
		Path:              c.contextPath(),
		Authorizer:        c.authorizerMap(),
	}
}

// authorizerMap is nil for a call that nobody authorized.
func (c *call) authorizerMap() map[string]any {
	if c.authorizer == nil {
		return nil
	}
	return gateway.Authorized(c.authorizer, c.authorizerLatency)
}

// authorizerEvent is what a REQUEST authorizer gets.
func (g *Gateway) authorizerEvent(c *call) *events.APIGatewayCustomAuthorizerRequestTypeRequest {
	return &events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type:                            "REQUEST",
		MethodArn:                       g.methodARN(c),
		Resource:                        c.route.resource,
		Path:                            c.path,
		HTTPMethod:                      c.method,
		Headers:                         gateway.Last(c.headers),
		MultiValueHeaders:               c.headers,
		QueryStringParameters:           orEmpty(gateway.Last(c.query)),
		MultiValueQueryStringParameters: orEmpty(c.query),
		PathParameters:                  orEmpty(c.pathParams),
		StageVariables:                  orEmpty(c.settings.Variables),
		RequestContext: events.APIGatewayCustomAuthorizerRequestTypeRequestContext{
			Path:         c.contextPath(),
			AccountID:    accountID,
			ResourceID:   c.route.resourceID,
			Stage:        g.config.Stage,
			RequestID:    c.requestID,
			Identity:     events.APIGatewayCustomAuthorizerRequestTypeRequestIdentity{SourceIP: c.sourceIP},
			ResourcePath: c.route.resource,
			HTTPMethod:   c.method,
			APIID:        apiID,
		},
	}
}

// methodARN names the call: arn:aws:execute-api:REGION:ACCOUNT:API/STAGE/METHOD/path.
func (g *Gateway) methodARN(c *call) string {
	return "arn:aws:execute-api:" + region + ":" + accountID + ":" + apiID + "/" +
		g.config.Stage + "/" + c.method + "/" + strings.TrimPrefix(c.path, "/")
}

// orEmpty makes a missing map {}, as in the event of an authorizer
// (AGW/api-gateway-lambda-authorizer-input.html).
func orEmpty[M ~map[string]V, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}
