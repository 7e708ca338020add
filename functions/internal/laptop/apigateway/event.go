package apigateway

import (
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// requestTimeLayout is the Common Log Format that $context.requestTime has.
const requestTimeLayout = "02/Jan/2006:15:04:05 -0700"

// contextPath is $context.path: that of the event, behind the stage where that is in the path.
func (c *call) contextPath() string { return c.stagePath + c.path }

// proxyEvent is what the function of a call gets.
func (g *Gateway) proxyEvent(c *call) *events.APIGatewayProxyRequest {
	return &events.APIGatewayProxyRequest{
		Resource:                        c.route.resource,
		Path:                            c.path,
		HTTPMethod:                      c.method,
		Headers:                         last(c.headers),
		MultiValueHeaders:               c.headers,
		QueryStringParameters:           last(c.query),
		MultiValueQueryStringParameters: c.query,
		PathParameters:                  c.pathParams,
		StageVariables:                  nonEmpty(c.settings.Variables),
		RequestContext:                  g.requestContext(c),
		Body:                            c.body,
	}
}

func (g *Gateway) requestContext(c *call) events.APIGatewayProxyRequestContext {
	prefix, _, _ := strings.Cut(g.config.Domain, ".")
	return events.APIGatewayProxyRequestContext{
		AccountID:         accountID,
		APIID:             apiID,
		ResourceID:        c.route.resourceID,
		ResourcePath:      c.route.resource,
		OperationName:     c.route.name,
		Stage:             g.config.Stage,
		DomainName:        g.config.Domain,
		DomainPrefix:      prefix,
		RequestID:         c.requestID,
		ExtendedRequestID: c.extendedID,
		Protocol:          c.protocol,
		Identity:          events.APIGatewayRequestIdentity{SourceIP: c.sourceIP, UserAgent: c.userAgent},
		Path:              c.contextPath(),
		HTTPMethod:        c.method,
		RequestTime:       c.started.UTC().Format(requestTimeLayout),
		RequestTimeEpoch:  c.started.UnixMilli(),
		Authorizer:        c.authorizerMap(),
	}
}

// authorizerMap is what the authorizer said, as strings; the gateway adds how long it took,
// in milliseconds, and that is a number.
func (c *call) authorizerMap() map[string]any {
	if c.authorizer == nil {
		return nil
	}
	m := make(map[string]any, len(c.authorizer)+1)
	for name, value := range c.authorizer {
		m[name] = value
	}
	m["integrationLatency"] = c.authorizerLatency.Milliseconds()
	return m
}

// authorizerEvent is what a REQUEST authorizer gets.
func (g *Gateway) authorizerEvent(c *call) *events.APIGatewayCustomAuthorizerRequestTypeRequest {
	return &events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type:                            "REQUEST",
		MethodArn:                       g.methodARN(c),
		Resource:                        c.route.resource,
		Path:                            c.path,
		HTTPMethod:                      c.method,
		Headers:                         last(c.headers),
		MultiValueHeaders:               c.headers,
		QueryStringParameters:           orEmpty(last(c.query)),
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

// nonEmpty makes an empty map null, as in the event of an integration.
func nonEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// orEmpty makes a missing map {}, as in the event of an authorizer
// (AGW/api-gateway-lambda-authorizer-input.html).
func orEmpty[M ~map[string]V, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}
