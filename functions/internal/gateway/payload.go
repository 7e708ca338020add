package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// event is one of either payload format, so that a single pass of the decoder reads both
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html).
// What both have, such as headers and body, is in the embedded REST event.
type event struct {
	events.APIGatewayProxyRequest
	// Version is "2.0", and absent from a REST API's events.
	Version        string         `json:"version"`
	RawPath        string         `json:"rawPath"`
	RawQueryString string         `json:"rawQueryString"`
	Cookies        []string       `json:"cookies"`
	RequestContext requestContext `json:"requestContext"`
}

type requestContext struct {
	events.APIGatewayProxyRequestContext
	HTTP      events.APIGatewayV2HTTPRequestContextHTTPDescription `json:"http"`
	TimeEpoch int64                                                `json:"timeEpoch"`
}

// second says that the event has payload format 2.0.
func (e *event) second() bool { return e.Version == "2.0" }

func (e *event) method() string {
	if e.second() {
		return e.RequestContext.HTTP.Method
	}
	return e.HTTPMethod
}

// rest is the event as a REST API would have sent it.
func (e *event) rest() *events.APIGatewayProxyRequest {
	r := e.APIGatewayProxyRequest
	r.RequestContext = e.RequestContext.APIGatewayProxyRequestContext
	if !e.second() {
		return &r
	}
	http := e.RequestContext.HTTP
	r.HTTPMethod, r.Path = http.Method, e.RawPath
	r.MultiValueHeaders = e.headers()
	// A part of the query that can't be decoded is left out, as net/http does.
	r.MultiValueQueryStringParameters, _ = url.ParseQuery(e.RawQueryString)
	r.QueryStringParameters = nil
	r.RequestContext.HTTPMethod, r.RequestContext.Path, r.RequestContext.Protocol = http.Method, http.Path, http.Protocol
	r.RequestContext.Identity.SourceIP, r.RequestContext.Identity.UserAgent = http.SourceIP, http.UserAgent
	r.RequestContext.ExtendedRequestID = r.RequestContext.RequestID // there is only one, and no client chooses it
	r.RequestContext.RequestTimeEpoch = e.RequestContext.TimeEpoch
	return &r
}

// oneValue are headers whose value has no comma in it. Format 2.0 joins what a client sent twice
// with a comma, and there one value would not be told from two.
var oneValue = []string{"X-Api-Key", "Authorization", "X-Amzn-Remapped-Authorization", "Origin"}

// headers are those of format 2.0, which keeps cookies apart.
func (e *event) headers() http.Header {
	all := Headers(nil, e.Headers)
	for _, name := range oneValue {
		if value := all.Get(name); strings.Contains(value, ",") {
			all[name] = strings.Split(value, ",")
		}
	}
	if len(e.Cookies) > 0 {
		all.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	return all
}
