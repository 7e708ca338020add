package gateway

import (
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// host is a name or an address with an optional port, and nothing that could lead a URL
// elsewhere.
var host = regexp.MustCompile(`^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$`)

// RESTAddress is the stage variable in which an HTTP API says where the REST API is.
const RESTAddress = "rest_address"

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
	if !host.MatchString(domain) {
		return "", fmt.Errorf("base URL: requestContext.domainName is %q, which is not a host", domain)
	}
	scheme := "https"
	if loopback(domain) && !strings.EqualFold(headers(event).Get("X-Forwarded-Proto"), "https") {
		scheme = "http"
	}
	return scheme + "://" + domain + prefix(event), nil
}

// prefix is what comes before the resource: the stage, or the base path of a custom
// domain. The resource is taken off where it fits, since event.path has a base path in it
// too; else the path is.
func prefix(event *events.APIGatewayProxyRequest) string {
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
