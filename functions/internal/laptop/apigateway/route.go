package apigateway

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"sekisho/functions/internal/contract"
)

// route is one method on one resource, with what answers it.
type route struct {
	// name is the operationId, empty where the description has none.
	name string
	// public routes skip the authorizer.
	public bool
	// resource is the path as the description writes it.
	resource   string
	resourceID string
	// limit is how long the gateway waits for the function.
	limit time.Duration
	// function is the name of the one that serves the route, unless mock does; streams says that
	// its answer goes out while it is made.
	function string
	streams  bool
	mock     *mock
}

// routes are those of the API's resources.
type routes struct {
	contract.Routes[*route]
	// secured: some operation needs the authorizer.
	secured bool
}

// described is what the typed view of the description leaves out of an operation.
type described struct {
	OperationID string `json:"operationId"`
	Integration struct {
		Type                string `json:"type"`
		URI                 string `json:"uri"`
		PassthroughBehavior string `json:"passthroughBehavior"`
		TimeoutInMillis     int64  `json:"timeoutInMillis"`
		// ResponseTransferMode is STREAM where the answer goes out while the function makes it.
		ResponseTransferMode string `json:"responseTransferMode"`
	} `json:"x-amazon-apigateway-integration"`
}

// describedOperations reads them by path and member, such as "get".
func describedOperations(description []byte) (map[string]map[string]described, error) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(description, &doc); err != nil {
		return nil, fmt.Errorf("description: %w", err)
	}
	found := map[string]map[string]described{}
	for path, members := range doc.Paths {
		found[path] = map[string]described{}
		for name, value := range members {
			var operation described
			// Other members of a path item, such as parameters, are no objects.
			if json.Unmarshal(value, &operation) == nil {
				found[path][name] = operation
			}
		}
	}
	return found, nil
}

// parse reads a description. Terraform's projection has no operationId, which the typed view
// wants: there method and path stand in.
func parse(description []byte) (*contract.API, error) {
	var doc map[string]any
	if err := json.Unmarshal(description, &doc); err != nil {
		return nil, fmt.Errorf("the description is not a JSON object: %w", err)
	}
	paths, _ := doc["paths"].(map[string]any)
	for path, item := range paths {
		members, _ := item.(map[string]any)
		for name, value := range members {
			operation, ok := value.(map[string]any)
			if id, _ := operation["operationId"].(string); ok && id == "" {
				operation["operationId"] = name + " " + path
			}
		}
	}
	named, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return contract.Parse(named)
}

// member is the name of a method in a path item.
func member(method string) string {
	if method == "ANY" {
		return "x-amazon-apigateway-any-method"
	}
	return strings.ToLower(method)
}

func (g *Gateway) buildRoutes(api *contract.API, description []byte) (*routes, error) {
	found, err := describedOperations(description)
	if err != nil {
		return nil, err
	}
	r := &routes{}
	shared := map[string]bool{}
	for _, op := range api.Operations {
		if shared[op.Resource] || op.Function != "" && op.Function == g.config.Elsewhere {
			continue
		}
		shared[op.Resource] = op.Shared()
		d := found[op.Path][member(op.Method)]
		rt := &route{
			public: op.Public, name: d.OperationID, resource: op.Resource, resourceID: resourceID(op.Resource),
			limit: integrationLimit(d.Integration.TimeoutInMillis), streams: d.Integration.ResponseTransferMode == "STREAM",
		}
		if strings.EqualFold(d.Integration.Type, "mock") {
			rt.mock = newMock(op.Integration, d.Integration.PassthroughBehavior)
		} else if rt.function, err = g.functionOf(op, d.Integration.URI); err != nil {
			return nil, err
		}
		rt.streams = rt.streams || rt.function != "" && rt.function == g.config.Streaming
		r.secured = r.secured || !op.Public
		if err := r.Add(op.ResourceMethod(), op.Resource, rt); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// integrationLimit is how long the gateway waits: what the description says, else 29 s.
func integrationLimit(describedMS int64) time.Duration {
	if describedMS > 0 {
		return time.Duration(describedMS) * time.Millisecond
	}
	return IntegrationTimeout
}

// functionOf finds the function that serves an operation: the one in the integration's URI,
// else that of x-sekisho.
func (g *Gateway) functionOf(op *contract.Operation, uri string) (string, error) {
	name := cmp.Or(functionInURI(uri), op.Function)
	if own := g.config.Functions.Find(name); own != "" {
		return own, nil
	}
	return "", fmt.Errorf("%s %s is served by function %q, which is not among the functions (%s)",
		op.Method, op.Path, name, g.functionNames())
}

// functionInURI takes the name out of the URI of a Lambda proxy integration,
// arn:aws:apigateway:…:lambda:path/2015-03-31/functions/arn:aws:lambda:…:function:NAME/invocations,
// or …/2021-11-15/…/response-streaming-invocations. It is empty for another URI. A version or alias behind the name is left out.
func functionInURI(uri string) string {
	_, rest, ok := strings.Cut(uri, ":function:")
	if !ok {
		return ""
	}
	name, action, _ := strings.Cut(rest, "/")
	if action != "invocations" && action != "response-streaming-invocations" {
		return ""
	}
	name, _, _ = strings.Cut(name, ":")
	return name
}

// findRoute sets the call's route. The error is a *refusal.
func (g *Gateway) findRoute(c *call) error {
	if g.config.StageInPath {
		rest, ok := strings.CutPrefix(c.path, "/"+g.config.Stage)
		if !ok || rest != "" && rest[0] != '/' {
			return refuseUnknownRoute()
		}
		c.stagePath = "/" + g.config.Stage
		c.path = "/" + strings.TrimLeft(rest, "/")
	}
	c.route, c.pathParams, _ = g.routes.Match(c.method, c.path)
	if c.route == nil {
		return refuseUnknownRoute()
	}
	return nil
}
