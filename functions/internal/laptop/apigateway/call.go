package apigateway

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// Limits of API Gateway, in bytes (AGW/api-gateway-execution-service-limits-table.html).
const (
	// maxBody is the payload of a request.
	maxBody = 10 << 20
	// maxHeaders is the request line and the values of all headers together.
	maxHeaders = 10_240
	// maxMethodARN is the ARN of a method with authorization; a longer one is a 414.
	maxMethodARN = 1_600
)

// call is one request on its way through the gateway.
type call struct {
	started time.Time
	method  string
	// rawPath is the path as sent, still percent-encoded. path is that of the event: without
	// the stage, and with one slash at its start (localstack/localstack, parse.py).
	rawPath, path string
	// stagePath is the part of the path that names the stage, such as /prod, mostly empty.
	stagePath string
	rawQuery  string
	protocol  string
	sourceIP  string
	userAgent string
	headers   http.Header
	query     map[string][]string
	body      string
	// done ends the call, and gives back the memory of its body.
	done func()

	requestID, extendedID string
	settings              *Settings

	// route is nil for a path or method that there is not.
	route      *route
	pathParams map[string]string
	// authorizer is the context that the authorizer gave, nil without one.
	authorizer        map[string]string
	authorizerLatency time.Duration
	// integrationLatency and integrationStatus are those of the proxy or mock integration.
	integrationLatency time.Duration
	integrationStatus  int
}

func (g *Gateway) newCall(r *http.Request) *call {
	now := g.now()
	c := &call{
		started: now, method: r.Method, protocol: r.Proto,
		sourceIP: front.SourceIP(r), userAgent: r.UserAgent(),
		extendedID: newExtendedID(), requestID: clientRequestID(r),
		settings: g.settings.Load(), done: func() {},
	}
	if c.requestID == "" {
		c.requestID = lambda.NewRequestID()
	}
	c.rawPath, c.rawQuery = front.Target(r)
	c.path = "/" + strings.TrimLeft(c.rawPath, "/")
	c.query = parseQuery(c.rawQuery)
	c.headers = g.eventHeaders(r, now)
	return c
}

// parseQuery decodes a query: unlike url.ParseQuery it keeps what is badly encoded as it
// stands, and takes a semicolon as a separator ("results in the data being split",
// AGW/api-gateway-known-issues.html).
func parseQuery(raw string) map[string][]string {
	var values map[string][]string
	for _, pair := range strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescape(name), unescape(value)
		if values == nil {
			values = map[string][]string{}
		}
		values[name] = append(values[name], value)
	}
	return values
}

func unescape(text string) string {
	decoded, err := url.QueryUnescape(text)
	if err != nil {
		decoded = text
	}
	return strings.ToValidUTF8(decoded, "\uFFFD")
}

// clientRequestID is the request ID that the client chose, empty without one. "Clients can
// override this request ID"; what could break out of a template is not taken.
func clientRequestID(r *http.Request) string {
	id := r.Header.Get("X-Amzn-Requestid")
	if len(id) > 128 {
		return ""
	}
	for _, b := range []byte(id) {
		isLetter := b|0x20 >= 'a' && b|0x20 <= 'z'
		isDigit := b >= '0' && b <= '9'
		if !isLetter && !isDigit && b != '-' && b != '_' {
			return ""
		}
	}
	return id
}

// checkHeaders refuses a request whose line and headers are too large together. Public
// reports show the text and a DEFAULT_4XX of 400, none shows a 431.
func (c *call) checkHeaders(r *http.Request) error {
	if front.HeaderSize(r) > maxHeaders {
		return &refusal{kind: "DEFAULT_4XX", status: http.StatusBadRequest, message: "HTTP header is larger than 10240 bytes."}
	}
	return nil
}
