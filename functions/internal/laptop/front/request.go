// Package front is what the laptop's stand-ins for API Gateway and for function URLs have in
// common: how they read requests, bound bodies and rates, and pass on what a function streams.
package front

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// Target is the path and query as the client wrote them. net/http's URL has them decoded.
func Target(r *http.Request) (path, query string) {
	uri := r.RequestURI
	if uri == "" || !strings.HasPrefix(uri, "/") {
		// A request with an absolute URI, or one made in a test.
		uri = r.URL.EscapedPath()
		if r.URL.RawQuery != "" {
			uri += "?" + r.URL.RawQuery
		}
	}
	path, query, _ = strings.Cut(uri, "?")
	return path, query
}

// SourceIP is the client's address without its port.
func SourceIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// HeaderSize is that of the request line and the values of all headers, in bytes.
func HeaderSize(r *http.Request) int {
	path, query := Target(r)
	size := len(r.Method) + len(path) + len(query) + len(r.Proto) + len(r.Host)
	for _, values := range r.Header {
		for _, value := range values {
			size += len(value)
		}
	}
	return size
}

// NewTraceID makes an X-Ray trace header.
func NewTraceID(now time.Time) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return fmt.Sprintf("Root=1-%08x-%x", now.Unix(), b)
}

// Forwarded are the headers that a gateway sets itself, whatever the client claims. domain is the
// gateway's host, with its port.
func Forwarded(r *http.Request, domain string, now time.Time) map[string]string {
	proto, port := "http", "80"
	if r.TLS != nil {
		proto, port = "https", "443"
	}
	if _, p, err := net.SplitHostPort(domain); err == nil {
		port = p
	}
	return map[string]string{
		"Host": r.Host, "X-Amzn-Trace-Id": NewTraceID(now),
		"X-Forwarded-For": SourceIP(r), "X-Forwarded-Port": port, "X-Forwarded-Proto": proto,
	}
}
