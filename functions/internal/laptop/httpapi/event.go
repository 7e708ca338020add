package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// event is what the function gets, in payload format 2.0
// (docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html).
func (d *Door) event(r *http.Request, route, id string, body []byte, now time.Time) ([]byte, error) {
	path, query := front.Target(r)
	prefix, _, _ := strings.Cut(d.config.Domain, ".")
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: route, RawPath: path, RawQueryString: query,
		Cookies: cookies(r), Headers: headers(r, d.config.Domain, now), QueryStringParameters: parameters(query),
		StageVariables: d.variables(),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: route, AccountID: lambda.AccountID, Stage: "$default", RequestID: id, APIID: "local",
			DomainName: d.config.Domain, DomainPrefix: prefix,
			Time: now.UTC().Format(gateway.RequestTime), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: front.SourceIP(r), UserAgent: r.UserAgent(),
			},
		},
	}
	if isText(r.Header.Get("Content-Type")) && r.Header.Get("Content-Encoding") == "" && utf8.Valid(body) {
		e.Body = string(body)
	} else {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), len(body) > 0
	}
	return json.Marshal(e)
}

// headers have names in lower case. Of a header that comes twice the values are joined with commas.
func headers(r *http.Request, domain string, now time.Time) map[string]string {
	h := make(map[string]string, len(r.Header)+5)
	for name, values := range r.Header {
		if name != "Cookie" && !isDropped(name) {
			h[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ","), "\uFFFD")
		}
	}
	for name, value := range front.Forwarded(r, domain, now) {
		h[strings.ToLower(name)] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return h
}

func cookies(r *http.Request) (all []string) {
	for _, line := range r.Header["Cookie"] {
		for cookie := range strings.SplitSeq(line, ";") {
			all = append(all, strings.TrimSpace(cookie))
		}
	}
	return all
}

// parameters of a name that comes twice are joined with commas.
func parameters(query string) map[string]string {
	values, _ := url.ParseQuery(query) // what can't be decoded is left out
	if len(values) == 0 {
		return nil
	}
	joined := make(map[string]string, len(values))
	for name, all := range values {
		joined[name] = strings.Join(all, ",")
	}
	return joined
}

// isText: bodies of these types are in the event as they are, others as base64.
func isText(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	switch media {
	case "application/json", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(media, "text/")
}
