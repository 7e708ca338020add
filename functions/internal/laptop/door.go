package laptop

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/httpapi"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/mcpserver"
)

// The doors that /mcp can have, as Terraform's variable "mcp" names them.
const (
	DoorREST = "rest" // the REST API itself
	DoorHTTP = "http" // an HTTP API
	DoorURL  = "url"  // a function URL
)

// Door is the way to /mcp that is not the REST API.
type Door struct {
	// Kind is DoorHTTP or DoorURL.
	Kind string
	// Domain is the host, with its port, that clients reach it at.
	Domain string
	// RESTAddress is the URL of the REST API. A function URL can't pass it on.
	RESTAddress string
	// Routes of an HTTP API; nil means what the contract has of them. Throttle is that of each;
	// nil means none.
	Routes   []string
	Throttle *front.Throttle
}

// OAuthDoor is the way to /mcp for those who sign in: an HTTP API beside the other doors.
type OAuthDoor struct {
	// Domain is the host, with its port, that clients reach it at.
	Domain string
	// External: users sign in elsewhere, so that the routes of our own authorization server are not
	// there.
	External bool
	// Routes of the HTTP API, and Throttle of those that have none of their own; nil means what the
	// contract has of them, and none.
	Routes   []contract.OAuthRoute
	Throttle *front.Throttle
}

// Address is what the door calls itself.
func (d OAuthDoor) Address() string { return "http://" + d.Domain }

// routes are those that are there.
func (d OAuthDoor) routes(api *contract.API) []contract.OAuthRoute {
	if d.Routes != nil {
		return d.Routes
	}
	return slices.DeleteFunc(slices.Clone(api.OAuthRoutes), func(r contract.OAuthRoute) bool { return r.Own && d.External })
}

// AddOAuth adds the functions that only an OAuth door leads to, with an environment.
func AddOAuth(functions map[string]Function, api *contract.API, env map[string]string) {
	for _, route := range api.OAuthRoutes {
		if _, there := functions[route.Function]; !there {
			functions[route.Function] = Function{Function: lambda.Function{Reserved: lambda.Unreserved}, Env: env}
		}
	}
}

func (s *Service) newOAuthDoor(c Config) (http.Handler, error) {
	if c.OAuthDoor == nil {
		return nil, nil
	}
	if !s.direct {
		return nil, errors.New("an OAuth door needs dispatch direct: a token is no key, so that mcp could send nothing on to the REST API")
	}
	a := httpapi.HTTPAPI{
		Behind: map[string]string{}, Throttle: c.OAuthDoor.Throttle, Throttles: map[string]front.Throttle{},
		StageVariables: map[string]string{gateway.OAuthAddress: c.OAuthDoor.Address()},
	}
	for _, r := range c.OAuthDoor.routes(s.api) {
		if !slices.Contains(s.Functions.Names(), r.Function) {
			return nil, fmt.Errorf("the route %s of the OAuth door leads to the function %s, which is missing", r.Route, r.Function)
		}
		a.Routes = append(a.Routes, r.Route)
		a.Behind[r.Route] = r.Function
		if r.Burst > 0 {
			a.Throttles[r.Route] = front.Throttle{Rate: r.RatePerSecond, Burst: r.Burst}
		}
	}
	return httpapi.NewHTTPAPI(httpapi.Config{Functions: s.Functions, Domain: c.OAuthDoor.Domain, Log: s.log, Now: c.Now}, a), nil
}

// OAuth serves the requests that come by the OAuth door.
func (s *Service) OAuth() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.calls.serve(s.oauth, w, r) })
}

// routes are those of an HTTP API where what Terraform applied does not name them: what mcp serves,
// and what the REST API answers for it. With a final slash a path is another, and few clients
// follow a redirect.
func routes(api *contract.API) (routes []string) {
	for _, op := range api.ByFunction(MCP) {
		routes = append(routes, op.Method+" "+op.Path, op.Method+" "+op.Path+"/")
	}
	if op := api.Operation(mcpserver.Registration); op != nil {
		routes = append(routes, op.Method+" "+op.Path)
	}
	return routes
}

func (s *Service) newDoor(c Config) http.Handler {
	if c.Door == nil {
		return nil
	}
	d := httpapi.Config{Functions: s.Functions, Function: MCP, Domain: c.Door.Domain, Log: s.log, Now: c.Now}
	if c.Door.Kind == DoorURL {
		return httpapi.NewFunctionURL(d)
	}
	own := c.Door.Routes
	if own == nil {
		own = routes(s.api)
	}
	return httpapi.NewHTTPAPI(d, httpapi.HTTPAPI{
		Routes: own, StageVariables: map[string]string{gateway.RESTAddress: c.Door.RESTAddress}, Throttle: c.Door.Throttle,
	})
}

// Door serves the requests that come by it.
func (s *Service) Door() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.calls.serve(s.door, w, r) })
}

// CheckDoor says why a door can't be had; dispatch is proxy or direct.
func CheckDoor(door, dispatch string) error {
	if door == DoorURL && dispatch == boot.Proxy {
		return fmt.Errorf("through a function URL mcp can't learn where the REST API is, which it calls with dispatch %s: use dispatch direct, or the door %s or %s", dispatch, DoorREST, DoorHTTP)
	}
	return nil
}
