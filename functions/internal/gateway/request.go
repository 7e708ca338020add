package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/problem"
)

// request makes an HTTP request of an event. Of what a client can send, it fails only on a
// body that is not the base64 it claims to be.
func request(ctx context.Context, event *events.APIGatewayProxyRequest) (*http.Request, error) {
	body, err := Body(event)
	if err != nil {
		return nil, err
	}
	target := &url.URL{Path: event.Path, RawQuery: Query(event).Encode()}
	if path, err := url.PathUnescape(event.Path); err == nil && path != event.Path {
		target.Path, target.RawPath = path, event.Path
	}
	header := Headers(event.MultiValueHeaders, event.Headers)
	host := header.Get("Host")
	if host == "" {
		host = event.RequestContext.DomainName
	}
	r := &http.Request{
		Method:        event.HTTPMethod,
		URL:           target,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Host:          host,
		RequestURI:    target.RequestURI(),
		RemoteAddr:    event.RequestContext.Identity.SourceIP,
	}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	return r.WithContext(context.WithValue(ctx, eventKey{}, event)), nil
}

// Source is whom to blame for what comes from an IP address: the address itself, and of IPv6 the
// network, since whoever has one address has the 2^64 beside it.
func Source(ip string) string {
	address, err := netip.ParseAddr(ip)
	if err != nil || address.Unmap().Is4() {
		return ip
	}
	network, _ := address.WithZone("").Prefix(64) // 64 is a length of every IPv6 prefix
	return network.String()
}

// Header is one header of a proxy event, the last value of several; "" if it isn't there.
func Header(event *events.APIGatewayProxyRequest, name string) string {
	if values := Values(event.MultiValueHeaders, event.Headers, name); len(values) > 0 {
		return values[len(values)-1]
	}
	return ""
}

// Headers joins both forms in which an event carries headers; see Values.
func Headers(multi map[string][]string, single map[string]string) http.Header {
	all := make(http.Header, len(multi)+len(single))
	add := func(name string) {
		canonical := http.CanonicalHeaderKey(name)
		if _, done := all[canonical]; done {
			return
		}
		if values := Values(multi, single, name); len(values) > 0 {
			all[canonical] = values
		}
	}
	for name := range multi {
		add(name)
	}
	for name := range single {
		add(name)
	}
	return all
}

// Values are those of one header in both forms in which an event carries headers. The multi-value form
// is complete where it is there; the single form, which holds the last value only, fills in what it
// lacks. Names in different cases are one header: regional endpoints deliver names as the client sent
// them (aws/aws-sdk-js#2719).
func Values(multi map[string][]string, single map[string]string, header string) (values []string) {
	for _, name := range spellings(multi, header) {
		values = append(values, multi[name]...)
	}
	if len(values) > 0 {
		return values
	}
	for _, name := range spellings(single, header) {
		values = append(values, single[name])
	}
	return values
}

// spellings are the names of a header among those sent, sorted, since a map has no order.
func spellings[V any](sent map[string]V, header string) (names []string) {
	for name := range sent {
		// Of the same length, equal but for the case means equal but for the case of ASCII letters.
		if len(name) == len(header) && strings.EqualFold(name, header) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Query joins both forms of the query the same way; REST events hold it decoded.
func Query(event *events.APIGatewayProxyRequest) url.Values {
	all := make(url.Values, len(event.MultiValueQueryStringParameters))
	for name, values := range event.MultiValueQueryStringParameters {
		all[name] = slices.Clone(values)
	}
	for name, value := range event.QueryStringParameters {
		if len(all[name]) == 0 {
			all[name] = []string{value}
		}
	}
	return all
}

// Body is the body of an event, decoded. The error is a *problem.Problem: a body that is not
// the base64 it claims to be.
func Body(event *events.APIGatewayProxyRequest) ([]byte, error) {
	if !event.IsBase64Encoded {
		return []byte(event.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(event.Body)
	if err != nil {
		return nil, problem.New(problem.BadRequest, "The body is not valid base64.")
	}
	return body, nil
}
