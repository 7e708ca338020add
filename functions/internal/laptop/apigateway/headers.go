package apigateway

import (
	"net/http"
	"strings"
	"time"

	"sekisho/functions/internal/laptop/front"
)

// The table of AGW/api-gateway-known-issues.html for Lambda proxy integrations, with what
// localstack/localstack recorded of AWS (header_utils.py) where the two differ: a function
// gets no Content-Length, and the Content-Length that it sets is renamed.

// isDroppedFromRequest: the event does not have the header.
func isDroppedFromRequest(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Content-Md5", "Expect", "Keep-Alive", "Max-Forwards",
		"Proxy-Authenticate", "Server", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Www-Authenticate",
		// The gateway says these itself, whatever the client claims.
		"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port",
		"X-Forwarded-Proto", "X-Amzn-Requestid":
		return true
	}
	return false
}

// isDroppedFromResponse: the client does not get the header.
func isDroppedFromResponse(name string) bool {
	switch name {
	case "Expect", "Host", "Keep-Alive", "Proxy-Authenticate", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Via", "X-Amz-Apigw-Id":
		return true
	}
	return false
}

// isRemapped: the client gets the header as x-amzn-Remapped-NAME.
func isRemapped(name string) bool {
	switch name {
	case "Authorization", "Connection", "Content-Length", "Content-Md5", "Date",
		"Max-Forwards", "Server", "User-Agent", "Www-Authenticate", "X-Amzn-Requestid":
		return true
	}
	return false
}

// eventHeaders are the headers that functions see, with those that the gateway adds. Names
// are in the form of net/http (X-Api-Key): how the client wrote them is lost.
func (g *Gateway) eventHeaders(r *http.Request, now time.Time) http.Header {
	h := make(http.Header, len(r.Header)+5)
	for name, values := range r.Header {
		if !isDroppedFromRequest(name) {
			h[name] = validUTF8(values)
		}
	}
	for name, value := range front.Forwarded(r, g.config.Domain, now) {
		h[name] = validUTF8([]string{value})
	}
	return h
}

func validUTF8(values []string) []string {
	valid := make([]string, len(values))
	for i, value := range values {
		valid[i] = strings.ToValidUTF8(value, "\uFFFD")
	}
	return valid
}

// lookUpHeader finds a header whatever the case of its name; it has the last of several.
func (c *call) lookUpHeader(name string) (string, bool) {
	if values := c.headers[http.CanonicalHeaderKey(name)]; len(values) > 0 {
		return values[len(values)-1], true
	}
	return "", false
}
