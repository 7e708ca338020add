// Package contract holds the contract, the one description of the API, and a typed view of it.
//
// The contract lists every route and every tool. The authorizer reads units and exemptions
// from it, the MCP function its tools, the business functions their argument checks, and the
// laptop's gateway its routes and refusals; Terraform sends a projection of the same file to
// API Gateway.
//
// It is merged from two: base.yaml is the service's own, and the other lists the tools, by
// default those of tools.yaml. The end of base.yaml, with the gateway's own answers, is generated
// from other packages. What is merged is JSON, because YAML takes ten times as long to decode at
// a cold start; contract.json is the default one. A test keeps everything in sync; go generate
// writes it.
package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

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
	// MinCompressed is from how many bytes on API Gateway compresses answers; nil means never.
	MinCompressed *int
	Limits        Limits
	// Backends by name, which is also that of their function.
	Backends map[string]Backend
	// OAuthRoutes of the OAuth door, sorted by Route.
	OAuthRoutes []OAuthRoute

	functions  functionTable
	byID       map[string]*Operation
	byResource map[string]*Operation
	routes     func() (*Routes[*Operation], error)
	base       string // the hash of the base that it was merged with
	sizes      func() (map[string]ListSize, error)
}

// Operation is one method on one path.
type Operation struct {
	// ID is the operationId, which is also the tool's name.
	ID string
	// Method in upper case, or ANY.
	Method string
	// Path with its parameters in braces, such as /v1/postal/{postal_code}.
	Path string
	// Resource is API Gateway's for the path. It differs where the gateway can't hold the path, or
	// where operations share one: then it ends in {proxy+}, and Resolve says which of them is meant.
	Resource string
	// Category is the operation's first tag.
	Category    string
	Summary     string
	Description string
	// Public operations need no key.
	Public bool
	// Function is the Lambda that serves it; empty if the gateway itself answers.
	Function string
	// Backend that the function asks; empty if it serves the operation itself.
	Backend string
	// Answer is AnswerObject, AnswerWrapped or AnswerText.
	Answer string
	// PerDay is how many calls may succeed on one UTC day, by all callers together, unless the
	// backend's settings say otherwise; 0 is no limit.
	PerDay int
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
	call    func() (*BackendCall, error)
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

// ListedName is a tool's name as lists have it by default: some hosts refuse dots.
func ListedName(id string) string { return strings.ReplaceAll(id, ".", "_") }

// Operation finds an operation by its ID; nil if there is none.
func (a *API) Operation(id string) *Operation { return a.byID[id] }

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

// raw is the part of an OpenAPI document that Parse reads.
type raw struct {
	Paths    map[string]pathItem   `json:"paths"`
	Security []map[string][]string `json:"security"`

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
	MinCompressed    *int                         `json:"x-amazon-apigateway-minimum-compression-size"`
	Functions        map[string]json.RawMessage   `json:"x-sekisho-functions"`
	OAuthRoutes      map[string]json.RawMessage   `json:"x-sekisho-oauth-routes"`
	Limits           Limits                       `json:"x-sekisho-limits"`
	Backends         map[string]Backend           `json:"x-sekisho-backends"`
	Base             string                       `json:"x-sekisho-base"`
	Sizes            json.RawMessage              `json:"x-sekisho-list-sizes"`
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
		Function    string          `json:"function"`
		Backend     string          `json:"backend"`
		Resource    string          `json:"resource"`
		Request     json.RawMessage `json:"request"`
		Answer      string          `json:"answer"`
		PerDay      int             `json:"per_day"`
		Units       int64           `json:"units"`
		Code        string          `json:"code"`
		Tool        bool            `json:"tool"`
		Listed      Listed          `json:"listed"`
		Braked      bool            `json:"braked"`
		Annotations Annotations     `json:"annotations"`
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
		MinCompressed:    r.MinCompressed,
		Limits:           r.Limits,
		Backends:         r.Backends,
		base:             r.Base,
		sizes:            sync.OnceValues(func() (map[string]ListSize, error) { return listSizesOf(r.Sizes) }),
		byID:             map[string]*Operation{},
		byResource:       map[string]*Operation{},
	}
	api.routes = sync.OnceValues(api.newRoutes)
	schemas := newResolver(doc)
	if err := api.addOperations(r, schemas); err != nil {
		return nil, err
	}
	if err := api.addOAuthRoutes(r.OAuthRoutes); err != nil {
		return nil, fmt.Errorf("contract: x-sekisho-oauth-routes: %w", err)
	}
	if err := api.addFunctions(r.Functions); err != nil {
		return nil, fmt.Errorf("contract: x-sekisho-functions: %w", err)
	}
	return api, api.addComposites(r, schemas)
}

// pathItem has a field for each method, so that a contract is decoded in one go.
type pathItem struct {
	Get     *rawOperation `json:"get"`
	Put     *rawOperation `json:"put"`
	Post    *rawOperation `json:"post"`
	Delete  *rawOperation `json:"delete"`
	Patch   *rawOperation `json:"patch"`
	Head    *rawOperation `json:"head"`
	Options *rawOperation `json:"options"`
	Any     *rawOperation `json:"x-amazon-apigateway-any-method"`
}

func (p pathItem) operations() map[string]*rawOperation {
	return map[string]*rawOperation{
		"GET": p.Get, "PUT": p.Put, "POST": p.Post, "DELETE": p.Delete, "PATCH": p.Patch, "HEAD": p.Head, "OPTIONS": p.Options, anyMethod: p.Any,
	}
}

// methods maps those members of a path item that are operations to their HTTP methods.
var methods = map[string]string{
	"get": "GET", "put": "PUT", "post": "POST", "delete": "DELETE", "patch": "PATCH",
	"head": "HEAD", "options": "OPTIONS", "x-amazon-apigateway-any-method": "ANY",
}

func (a *API) addOperations(r raw, schemas *resolver) error {
	for path, item := range r.Paths {
		for method, described := range item.operations() {
			if described == nil {
				continue
			}
			op, err := newOperation(method, path, *described, len(r.Security) > 0, schemas)
			if err != nil {
				return fmt.Errorf("contract: %s %s: %w", method, path, err)
			}
			if a.byID[op.ID] != nil {
				return fmt.Errorf("contract: operationId %q is written twice, at %s %s and %s %s", op.ID, a.byID[op.ID].Method, a.byID[op.ID].Path, method, path)
			}
			if _, declared := a.Backends[op.Backend]; op.Backend != "" && !declared {
				return fmt.Errorf("contract: %s: x-sekisho.backend %s is not declared: add it to x-sekisho-backends, as in { type: http }", op.ID, op.Backend)
			}
			a.Operations = append(a.Operations, op)
			a.byID[op.ID] = op
			a.byResource[op.ResourceMethod()+" "+op.Resource] = op
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

func newOperation(method, path string, r rawOperation, secured bool, schemas *resolver) (*Operation, error) {
	op := &Operation{
		ID: r.OperationID, Method: method, Path: path,
		Summary: r.Summary, Description: r.Description,
		Resource: cmp.Or(r.Sekisho.Resource, path),
		Function: r.Sekisho.Function, Backend: r.Sekisho.Backend,
		PerDay: r.Sekisho.PerDay, Units: r.Sekisho.Units, Code: r.Sekisho.Code,
		Tool: r.Sekisho.Tool, Listed: r.Sekisho.Listed, Annotations: r.Sekisho.Annotations,
		Integration: r.Integration, Braked: r.Sekisho.Braked,
		Public: !secured,
	}
	if op.ID == "" {
		return nil, errors.New("operationId is missing")
	}
	if op.PerDay < 0 || op.PerDay > 0 && op.Backend == "" {
		return nil, fmt.Errorf("x-sekisho.per_day %d: write 1 or more, for an operation of a backend", op.PerDay)
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
	if op.Code != "" && !isCode(op.Code) {
		return nil, fmt.Errorf("code %q: write two letters or digits", op.Code)
	}
	op.Answer = cmp.Or(r.Sekisho.Answer, AnswerObject)
	if !slices.Contains([]string{AnswerObject, AnswerWrapped, AnswerText}, op.Answer) {
		return nil, fmt.Errorf("x-sekisho.answer %q: write %s, %s or %s", op.Answer, AnswerObject, AnswerWrapped, AnswerText)
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
	op.call = sync.OnceValues(func() (*BackendCall, error) {
		made, err := newCall(op, r, schemas)
		if err != nil {
			return nil, fmt.Errorf("contract: %s: %w", op.ID, err)
		}
		return made, nil
	})
	return op, nil
}

// Call says how the operation's backend is asked. It is read once, when it is first wanted.
func (op *Operation) Call() (*BackendCall, error) { return op.call() }

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
	if op.Backend != "" {
		_, err = op.Call()
	}
	return err
}
