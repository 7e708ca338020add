// Package contract holds the contract, the one description of the API, and a typed view of it.
//
// openapi.yaml lists every route and every tool. The authorizer reads units and exemptions
// from it, the MCP function its tools, the business functions their argument checks, and the
// laptop's gateway its routes and refusals; Terraform sends a projection of the same file to
// API Gateway.
//
// The end of the file, with the gateway's own answers, is generated from other packages. The
// whole is embedded as JSON because YAML takes ten times as long to decode at a cold start.
// A test keeps everything in sync; go generate writes it.
package contract

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed openapi.json
var document []byte

// API is a typed view of the contract.
type API struct {
	// Operations, sorted by path and method.
	Operations []*Operation
	// Composites are the tools that the MCP function serves itself.
	Composites []*Composite
	// GatewayResponses by API Gateway's response type, such as ACCESS_DENIED.
	GatewayResponses map[string]GatewayResponse
	// StageVariables of each state of the service: "open" and "braked".
	StageVariables map[string]map[string]string
	// AccessLog maps the fields of an access-log record to $context variables.
	AccessLog map[string]string
	Limits    Limits

	functions functionTable
	byID      map[string]*Operation
	byRoute   map[string]*Operation
}

// Operation is one method on one path.
type Operation struct {
	// ID is the operationId, which is also the tool's name.
	ID string
	// Method in upper case, or ANY.
	Method string
	// Path with its parameters in braces, such as /v1/postal/{postal_code}.
	Path string
	// Category is the operation's first tag.
	Category    string
	Summary     string
	Description string
	// Public operations need no key.
	Public bool
	// Function is the Lambda that serves it; empty if the gateway itself answers.
	Function string
	// Units that a call takes from the monthly limit; 0 = exempt.
	Units int64
	// Code names the operation's counter, "" where it has none; see MaxCoded.
	Code string
	// Tool says whether the operation is a tool over MCP, and Listed in which lists.
	Tool        bool
	Listed      Listed
	Annotations Annotations
	// HasBody operations take a JSON body, whose members are arguments too.
	HasBody bool
	// Integration is set if the gateway itself answers.
	Integration *MockIntegration
	// Braked says whether the brake stops an operation that the gateway itself answers. For
	// others, the table of functions says so.
	Braked bool

	schemas func() (*Schemas, error)
}

// Annotations are MCP's tool annotations, with the specification's defaults.
type Annotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    bool   `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  bool   `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
}

// Param is an argument that travels in the path or the query.
type Param struct {
	Name string
	// In is "path" or "query".
	In       string
	Required bool
}

// Listed says in which lists of tools a tool is.
type Listed string

// The kinds of tools by where they are listed. A list is in full, or names a few tools with which
// the others are found.
const (
	// ListedInFull is the default: the tool is found where it is not listed.
	ListedInFull Listed = ""
	// ListedAlways is a tool of every list.
	ListedAlways Listed = "always"
	// ListedForSearch is a tool with which others are found and called.
	ListedForSearch Listed = "search"
)

func (l Listed) check() error {
	switch l {
	case ListedInFull, ListedAlways, ListedForSearch:
		return nil
	}
	return fmt.Errorf("listed takes %s or %s, not %q", ListedAlways, ListedForSearch, string(l))
}

// Composite is a tool that the MCP function serves itself.
type Composite struct {
	Name        string
	Category    string
	Listed      Listed
	Description string
	Annotations Annotations
	// Calls are the IDs of the exempt operations it may call.
	Calls []string

	schemas func() (*Schemas, error)
}

// Schemas reads the tool's schemas, once.
func (c *Composite) Schemas() (*Schemas, error) { return c.schemas() }

// GatewayResponse is an answer of API Gateway's own.
type GatewayResponse struct {
	// StatusCode is empty to keep the response type's default status.
	StatusCode         string            `json:"statusCode"`
	ResponseParameters map[string]string `json:"responseParameters"`
	ResponseTemplates  map[string]string `json:"responseTemplates"`
}

// MockIntegration answers without a function.
type MockIntegration struct {
	Type             string            `json:"type"`
	RequestTemplates map[string]string `json:"requestTemplates"`
	Responses        map[string]struct {
		StatusCode        string            `json:"statusCode"`
		ResponseTemplates map[string]string `json:"responseTemplates"`
	} `json:"responses"`
}

var load = sync.OnceValues(func() (*API, error) { return Parse(document) })

// Load returns the embedded contract. It is decoded once and shared, so callers must not
// change it.
func Load() (*API, error) { return load() }

// Document is the embedded contract as JSON.
func Document() []byte { return bytes.Clone(document) }

// Operation finds an operation by its ID; nil if there is none.
func (a *API) Operation(id string) *Operation { return a.byID[id] }

// Route finds the operation for a method on a path, written as in the contract; nil if there
// is none. ANY matches every method that the path doesn't list.
func (a *API) Route(method, path string) *Operation {
	if op := a.byRoute[strings.ToUpper(method)+" "+path]; op != nil {
		return op
	}
	return a.byRoute["ANY "+path]
}

// Tools lists the operations that are tools, sorted by name.
func (a *API) Tools() []*Operation {
	var tools []*Operation
	for _, op := range a.Operations {
		if op.Tool {
			tools = append(tools, op)
		}
	}
	slices.SortFunc(tools, func(x, y *Operation) int { return strings.Compare(x.ID, y.ID) })
	return tools
}

// ToolCategories maps the name of every tool, composites included, to its category.
func (a *API) ToolCategories() map[string]string {
	categories := map[string]string{}
	for _, op := range a.Tools() {
		categories[op.ID] = op.Category
	}
	for _, c := range a.Composites {
		categories[c.Name] = c.Category
	}
	return categories
}

// Functions lists the Lambdas that serve operations, sorted by name.
func (a *API) Functions() []string {
	var names []string
	for _, op := range a.Operations {
		if op.Function != "" && !slices.Contains(names, op.Function) {
			names = append(names, op.Function)
		}
	}
	slices.Sort(names)
	return names
}

// ByFunction lists the operations that a function serves.
func (a *API) ByFunction(name string) []*Operation {
	var ops []*Operation
	for _, op := range a.Operations {
		if op.Function == name {
			ops = append(ops, op)
		}
	}
	return ops
}

// Verbs are the methods of requests that reach an operation: its own, or all that ANY stands for.
func (op *Operation) Verbs() []string {
	if op.Method != "ANY" {
		return []string{op.Method}
	}
	return []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}
}

// raw is the part of an OpenAPI document that Parse reads.
type raw struct {
	Paths    map[string]map[string]json.RawMessage `json:"paths"`
	Security []map[string][]string                 `json:"security"`

	Composites []struct {
		Name        string          `json:"name"`
		Category    string          `json:"category"`
		Listed      Listed          `json:"listed"`
		Description string          `json:"description"`
		Annotations Annotations     `json:"annotations"`
		Calls       []string        `json:"calls"`
		Input       json.RawMessage `json:"input"`
		Output      json.RawMessage `json:"output"`
	} `json:"x-sekisho-composite-tools"`
	StageVariables   map[string]map[string]string `json:"x-sekisho-stage-variables"`
	AccessLog        map[string]string            `json:"x-sekisho-access-log"`
	Functions        map[string]json.RawMessage   `json:"x-sekisho-functions"`
	Limits           Limits                       `json:"x-sekisho-limits"`
	GatewayResponses map[string]GatewayResponse   `json:"x-amazon-apigateway-gateway-responses"`
}

type rawOperation struct {
	OperationID string                 `json:"operationId"`
	Tags        []string               `json:"tags"`
	Summary     string                 `json:"summary"`
	Description string                 `json:"description"`
	Security    *[]map[string][]string `json:"security"`
	Parameters  json.RawMessage        `json:"parameters"`
	RequestBody json.RawMessage        `json:"requestBody"`
	Responses   json.RawMessage        `json:"responses"`
	Sekisho     struct {
		Function    string      `json:"function"`
		Units       int64       `json:"units"`
		Code        string      `json:"code"`
		Tool        bool        `json:"tool"`
		Listed      Listed      `json:"listed"`
		Braked      bool        `json:"braked"`
		Annotations Annotations `json:"annotations"`
	} `json:"x-sekisho"`
	Integration *MockIntegration `json:"x-amazon-apigateway-integration"`
}

// Parse reads a contract, or the projection of one that an applied Terraform state holds, which
// lacks schemas and descriptions. Schemas are only read on demand, so that functions that need
// none, such as the authorizer, start faster. CheckSchemas reads them all.
func Parse(doc []byte) (*API, error) {
	var r raw
	if err := json.Unmarshal(doc, &r); err != nil {
		return nil, fmt.Errorf("contract: the description is not JSON of the expected shape: %w", err)
	}
	api := &API{
		GatewayResponses: r.GatewayResponses,
		StageVariables:   r.StageVariables,
		AccessLog:        r.AccessLog,
		Limits:           r.Limits,
		byID:             map[string]*Operation{},
		byRoute:          map[string]*Operation{},
	}
	schemas := newResolver(doc)
	if err := api.addOperations(r, schemas); err != nil {
		return nil, err
	}
	if err := api.addFunctions(r.Functions); err != nil {
		return nil, fmt.Errorf("contract: x-sekisho-functions: %w", err)
	}
	return api, api.addComposites(r, schemas)
}

// methods maps those members of a path item that are operations to their HTTP methods.
var methods = map[string]string{
	"get": "GET", "put": "PUT", "post": "POST", "delete": "DELETE", "patch": "PATCH",
	"head": "HEAD", "options": "OPTIONS", "x-amazon-apigateway-any-method": "ANY",
}

func (a *API) addOperations(r raw, schemas *resolver) error {
	for path, item := range r.Paths {
		for member, value := range item {
			method, ok := methods[member]
			if !ok {
				continue
			}
			op, err := newOperation(method, path, value, len(r.Security) > 0, schemas)
			if err != nil {
				return fmt.Errorf("contract: %s %s: %w", method, path, err)
			}
			if a.byID[op.ID] != nil {
				return fmt.Errorf("contract: operationId %q stands twice", op.ID)
			}
			a.Operations = append(a.Operations, op)
			a.byID[op.ID] = op
			a.byRoute[method+" "+path] = op
		}
	}
	slices.SortFunc(a.Operations, func(x, y *Operation) int {
		return strings.Compare(x.Path+" "+x.Method, y.Path+" "+y.Method)
	})
	if err := assignCodes(a.Operations); err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	return nil
}

func newOperation(method, path string, value json.RawMessage, secured bool, schemas *resolver) (*Operation, error) {
	var r rawOperation
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, err
	}
	op := &Operation{
		ID: r.OperationID, Method: method, Path: path,
		Summary: r.Summary, Description: r.Description,
		Function: r.Sekisho.Function, Units: r.Sekisho.Units, Code: r.Sekisho.Code,
		Tool: r.Sekisho.Tool, Listed: r.Sekisho.Listed, Annotations: r.Sekisho.Annotations,
		Integration: r.Integration, Braked: r.Sekisho.Braked,
		Public: !secured,
	}
	if op.ID == "" {
		return nil, errors.New("operationId is missing")
	}
	if err := op.Listed.check(); err != nil {
		return nil, err
	}
	if op.Units < 0 {
		return nil, fmt.Errorf("units must not be negative, not %d", op.Units)
	}
	if op.Braked && op.Function != "" {
		return nil, fmt.Errorf("braked is for operations without a function; that of %s is in x-sekisho-functions", op.Function)
	}
	if op.Code != "" && !codeForm.MatchString(op.Code) {
		return nil, fmt.Errorf("code %q: write two letters or digits", op.Code)
	}
	if len(r.Tags) > 0 {
		op.Category = r.Tags[0]
	}
	if r.Security != nil {
		op.Public = len(*r.Security) == 0
	}
	op.HasBody = r.RequestBody != nil
	op.schemas = sync.OnceValues(func() (*Schemas, error) {
		made, err := newSchemas(r, schemas)
		if err != nil {
			return nil, fmt.Errorf("contract: %s: %w", op.ID, err)
		}
		return made, nil
	})
	return op, nil
}

func (a *API) addComposites(r raw, schemas *resolver) error {
	for _, c := range r.Composites {
		for _, id := range c.Calls {
			op := a.byID[id]
			if op == nil {
				return fmt.Errorf("contract: composite tool %s calls %q, which is no operation", c.Name, id)
			}
			if op.Units != 0 {
				return fmt.Errorf("contract: composite tool %s calls %s, which is counted", c.Name, id)
			}
		}
		if err := c.Listed.check(); err != nil {
			return fmt.Errorf("contract: composite tool %s: %w", c.Name, err)
		}
		a.Composites = append(a.Composites, &Composite{
			Name: c.Name, Category: c.Category, Listed: c.Listed, Description: c.Description,
			Annotations: c.Annotations, Calls: c.Calls,
			schemas: sync.OnceValues(func() (*Schemas, error) {
				made, err := compositeSchemas(c.Input, c.Output, schemas)
				if err != nil {
					return nil, fmt.Errorf("contract: composite tool %s: %w", c.Name, err)
				}
				return made, nil
			}),
		})
	}
	return nil
}

// CheckSchemas reads every schema of the contract and compiles those of arguments.
func (a *API) CheckSchemas() error {
	for _, op := range a.Operations {
		if err := op.CheckSchemas(); err != nil {
			return err
		}
	}
	for _, c := range a.Composites {
		s, err := c.Schemas()
		if err != nil {
			return err
		}
		if _, err := s.compiled(); err != nil {
			return fmt.Errorf("contract: composite tool %s: input schema: %w", c.Name, err)
		}
	}
	return nil
}

// CheckSchemas reads the operation's schemas and compiles that of its arguments, so that the
// first call doesn't have to.
func (op *Operation) CheckSchemas() error {
	s, err := op.Schemas()
	if err != nil {
		return err
	}
	if _, err := s.compiled(); err != nil {
		return fmt.Errorf("contract: %s: input schema: %w", op.ID, err)
	}
	return nil
}
