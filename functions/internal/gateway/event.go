package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// Call is a call of an operation as a REST API hands it to a function.
type Call struct {
	// Resource is the path as the contract has it, Path the one that was called.
	Method, Resource, Path string
	// PathParameters are percent-encoded; headers and query are not.
	PathParameters, StageVariables map[string]string
	Headers                        http.Header
	Query                          map[string][]string
	Body                           string
	// At is when the call came in.
	At time.Time
}

// RequestTime is the Common Log Format that $context.requestTime has.
const RequestTime = "02/Jan/2006:15:04:05 -0700"

// NewEvent is the event of a call. of says whose call it is, and which API's: what depends on the
// call itself is filled in.
func NewEvent(c Call, of events.APIGatewayProxyRequestContext) *events.APIGatewayProxyRequest {
	of.ResourcePath, of.HTTPMethod = c.Resource, c.Method
	of.RequestTime, of.RequestTimeEpoch = c.At.UTC().Format(RequestTime), c.At.UnixMilli()
	e := &events.APIGatewayProxyRequest{
		Resource: c.Resource, Path: c.Path, HTTPMethod: c.Method, PathParameters: c.PathParameters,
		Headers: Last(c.Headers), MultiValueHeaders: c.Headers,
		QueryStringParameters: Last(c.Query), MultiValueQueryStringParameters: c.Query,
		RequestContext: of, Body: c.Body,
	}
	if len(c.StageVariables) > 0 { // null where there are none
		e.StageVariables = c.StageVariables
	}
	return e
}

// Last makes the single-value map of an event: of several values it has the last. It is nil
// for no values, which is null in JSON.
func Last(values map[string][]string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	single := make(map[string]string, len(values))
	for name, v := range values {
		if len(v) > 0 {
			single[name] = v[len(v)-1]
		}
	}
	return single
}

// Authorized is what an authorizer said, as functions find it in their event: the gateway adds
// how long the authorizer took, in milliseconds, and that is a number.
func Authorized[V any](context map[string]V, took time.Duration) map[string]any {
	m := make(map[string]any, len(context)+1)
	for name, value := range context {
		m[name] = value
	}
	m["integrationLatency"] = took.Milliseconds()
	return m
}

// InvocationID is Lambda's ID of the invocation that a context is of, "" outside one. The platform's
// records of the invocation have it too.
func InvocationID(ctx context.Context) string {
	if c, ok := lambdacontext.FromContext(ctx); ok {
		return c.AwsRequestID
	}
	return ""
}

// Nested is the event, as JSON, of a call that is made for the request that a context is of: by the
// same caller, to the same API. said is what the authorizer says of it.
func Nested(ctx context.Context, operation string, c Call, said map[string]any) ([]byte, error) {
	of := events.APIGatewayProxyRequestContext{Path: c.Path}
	if outer, ok := Event(ctx); ok {
		of = outer.RequestContext
		of.Path = BasePath(outer) + c.Path
		c.StageVariables = outer.StageVariables
		for _, name := range []string{"Host", "X-Amzn-Trace-Id", "X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"} {
			if values := Values(outer.MultiValueHeaders, outer.Headers, name); len(values) > 0 {
				c.Headers[name] = values
			}
		}
	}
	of.ResourceID, of.OperationName, of.Authorizer = "", operation, said
	return json.Marshal(NewEvent(c, of))
}
