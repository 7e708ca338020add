package gateway

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/lazy"
)

// host is a name or an address with an optional port, and nothing that could lead a URL
// elsewhere.
var host = lazy.Regexp(`^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$`)

// RESTAddress is the stage variable in which an HTTP API says where the REST API is.
const RESTAddress = "rest_address"

// OAuthAddress is the stage variable in which the OAuth door says what its own address is: scheme
// and host without a final slash. A request that has it came by that door.
const OAuthAddress = "oauth_address"

// ResourceMetadata is where the OAuth door describes itself (RFC 9728, section 3.1); what is added is
// the path of the resource.
const ResourceMetadata = "/.well-known/oauth-protected-resource"

// BaseURL is the URL of the REST API, without a final slash, such as
// https://abc.execute-api.eu-west-1.amazonaws.com/prod. Where the event came through that API, it
// is domain and stage or base path as API Gateway has them in requestContext, never as the client
// sent them; where it came through an HTTP API, it is the stage variable RESTAddress. A function
// that calls the API that calls it needs no configuration then, which Terraform could only give it
// in a circle.
//
// The scheme is https, unless the domain is a loopback host, where the laptop's gateway
// serves plain HTTP.
func BaseURL(event *events.APIGatewayProxyRequest) (string, error) {
	if address := event.StageVariables[RESTAddress]; address != "" {
		return address, nil
	}
	domain := event.RequestContext.DomainName
	if !host().MatchString(domain) {
		return "", fmt.Errorf("base URL: requestContext.domainName is %q, which is not a host", domain)
	}
	scheme := "https"
	if loopback(domain) && !strings.EqualFold(Header(event, "X-Forwarded-Proto"), "https") {
		scheme = "http"
	}
	return scheme + "://" + domain + BasePath(event), nil
}

// BasePath is what comes before the resource: the stage, or the base path of a custom
// domain, without a final slash. The resource is taken off where it fits, since event.path has a base path in it
// too; else the path is.
func BasePath(event *events.APIGatewayProxyRequest) string {
	whole := strings.TrimRight(event.RequestContext.Path, "/")
	for _, tail := range []string{event.Resource, event.Path} {
		tail = strings.TrimRight(tail, "/")
		if before, ok := strings.CutSuffix(whole, tail); ok && tail != "" {
			return strings.TrimRight(before, "/")
		}
	}
	return whole
}

func loopback(domain string) bool {
	name := domain
	if h, _, err := net.SplitHostPort(domain); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// SameOrigin says whether a web origin is that of the API itself. The API's host is the one in
// requestContext, never what the client says in Host: a page whose own name was made to point here
// (DNS rebinding) is of another origin. On a laptop all names of the loopback are one host.
func SameOrigin(event *events.APIGatewayProxyRequest, origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Scheme+"://"+u.Host, origin) {
		return false
	}
	domain := event.RequestContext.DomainName
	if local(domain) {
		_, port, _ := net.SplitHostPort(domain)
		return (u.Scheme == "http" || u.Scheme == "https") && loopback(u.Host) && u.Port() == port
	}
	return u.Scheme == "https" && strings.EqualFold(u.Host, domain)
}

// local: a loopback address, or that of a laptop that listens on all of its own.
func local(domain string) bool {
	name, _, err := net.SplitHostPort(domain)
	ip := net.ParseIP(name)
	return loopback(domain) || err == nil && ip != nil && ip.IsUnspecified()
}
