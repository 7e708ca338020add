package laptop

import (
	"fmt"
	"net/http"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/httpapi"
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
