package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/functions/internal/lazy"
)

// Backend is what stands behind a relay function of the same name.
type Backend struct {
	// Type is BackendHTTP or BackendLambda.
	Type string `json:"type"`
	// URL is where an HTTP backend probably is; settings come before it.
	URL string `json:"url"`
}

// Types of a backend.
const (
	BackendHTTP   = "http"
	BackendLambda = "lambda"
)

// relay is the binary that serves backends.
const relay = "relay"

var backendName = lazy.Regexp(`^[a-z][a-z0-9_]{0,23}$`)

func (b Backend) check(name string) error {
	if !backendName().MatchString(name) {
		return errors.New("use 1 to 24 lower-case letters, digits and _, beginning with a letter")
	}
	if b.Type != BackendHTTP && b.Type != BackendLambda {
		return fmt.Errorf("type %q: write %s or %s", b.Type, BackendHTTP, BackendLambda)
	}
	if b.URL != "" && !strings.HasPrefix(b.URL, "https://") && !strings.HasPrefix(b.URL, "http://") {
		return fmt.Errorf("url %q: write an absolute URL, https://…, or leave it to the settings", b.URL)
	}
	return nil
}

// BackendCall says how a backend is asked for an operation.
type BackendCall struct {
	// Method in upper case.
	Method string
	// Path with the backend's own parameter names in braces; it begins with a slash, and the
	// backend's base URL goes before it.
	Path string
	// Body is the form of the request's body, "" for none.
	Body BodyKind
	// Query and Headers are the same for every call.
	Query, Headers map[string]string
	// Arguments say where each argument of a call goes, in the order of the contract's
	// parameters, then the members of the body by name.
	Arguments []Argument
}

// Argument is one argument of a call, and where the backend takes it.
type Argument struct {
	// Name is ours, As the backend's.
	Name, As string
	// In is InPath, InQuery, InHeader or InBody.
	In string
	// Style says how an array or an object is written there; "" in a JSON body.
	Style Style

	wire *wire
}

// Where a backend takes an argument.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InBody   = "body"
)

// BodyKind is the form of a request's body.
type BodyKind string

// Forms of a body.
const (
	BodyJSON  BodyKind = "json"  // an object of the body's arguments
	BodyForm  BodyKind = "form"  // the same, URL-encoded
	BodyValue BodyKind = "value" // the only argument in the body is the JSON body
	BodyText  BodyKind = "text"  // the only argument in the body is the body, as it is
)

// Style says how an argument that is an array or an object is written.
type Style string

// Styles of an argument. Form repeats the name for each element of an array, and Comma is what
// paths and headers have where nothing is said.
const (
	Form     Style = "form"
	Comma    Style = "comma"
	Space    Style = "space"
	Pipe     Style = "pipe"
	Brackets Style = "brackets" // name[]=1&name[]=2
	Deep     Style = "deep"     // name[member]=value
	JSON     Style = "json"     // the JSON text is the value
)

var styles = map[string][]Style{
	InPath:   {Comma, Space, Pipe, JSON},
	InHeader: {Comma, Space, Pipe, JSON},
	InQuery:  {Form, Comma, Space, Pipe, Brackets, Deep, JSON},
	InBody:   {Form, Comma, Space, Pipe, Brackets, Deep, JSON}, // of an URL-encoded form
}

// rawRequest is x-sekisho.request.
type rawRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Body    BodyKind          `json:"body"`
	Query   map[string]string `json:"query"`
	Headers map[string]string `json:"headers"`
}

// Forms of the answer that a backend gives, as MCP shows it.
const (
	AnswerObject  = "object"  // passed on
	AnswerWrapped = "wrapped" // an array or a scalar, shown as {"result": …}
	AnswerText    = "text"    // shown as {"text": "…"}
)

func newCall(op *Operation, r rawOperation, from *resolver) (*BackendCall, error) {
	var request rawRequest
	if r.Sekisho.Request != nil {
		if err := decodeStrictly(r.Sekisho.Request, &request); err != nil {
			return nil, fmt.Errorf("x-sekisho.request: %w", err)
		}
	}
	call := &BackendCall{Method: request.Method, Query: request.Query, Headers: request.Headers, Body: request.Body}
	if call.Method == "" {
		call.Method = op.Method
	}
	if methods[strings.ToLower(call.Method)] != call.Method {
		return nil, fmt.Errorf("x-sekisho.request.method %q: write a method in upper case, such as POST", call.Method)
	}
	if err := call.setBody(op); err != nil {
		return nil, err
	}
	if err := call.addParameters(r.Parameters, from); err != nil {
		return nil, err
	}
	if err := call.addMembers(r.RequestBody, from); err != nil {
		return nil, err
	}
	if err := call.setPath(op.Path, request.Path); err != nil {
		return nil, err
	}
	return call, call.checkNames()
}

func (c *BackendCall) setBody(op *Operation) error {
	switch {
	case !op.HasBody && c.Body != "":
		return fmt.Errorf("x-sekisho.request.body %q: the operation has no requestBody; describe one, or take this line out", c.Body)
	case !op.HasBody:
		return nil
	case c.Body == "":
		c.Body = BodyJSON
	}
	if !slices.Contains([]BodyKind{BodyJSON, BodyForm, BodyValue, BodyText}, c.Body) {
		return fmt.Errorf("x-sekisho.request.body %q: write json, form, value or text", c.Body)
	}
	return nil
}

func (c *BackendCall) addParameters(raw json.RawMessage, from *resolver) error {
	var list []map[string]any
	if err := decode(raw, &list); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	for _, value := range list {
		p, err := from.ref(value)
		if err != nil {
			return err
		}
		in, _ := p["in"].(string)
		switch moved := p["x-sekisho-in"]; {
		case moved == nil:
		case moved == InHeader && in == InQuery:
			in = InHeader
		default:
			return fmt.Errorf("parameter %v: x-sekisho-in %v: only a query parameter can go elsewhere, and only into a header", p["name"], moved)
		}
		name, _ := p["name"].(string)
		if err := c.add(name, in, p, object(p["schema"]), from); err != nil {
			return err
		}
	}
	return nil
}

// addMembers adds the arguments that travel in the body.
func (c *BackendCall) addMembers(raw json.RawMessage, from *resolver) error {
	var body map[string]any
	if err := decode(raw, &body); err != nil || body == nil {
		return err
	}
	schema, err := from.ref(contentOf(body))
	if err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	members := object(schema["properties"])
	if (c.Body == BodyValue || c.Body == BodyText) && len(members) != 1 {
		return fmt.Errorf("x-sekisho.request.body %s: the body has %d members; describe one, which is all of the backend's body", c.Body, len(members))
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member, err := from.ref(object(members[name]))
		if err != nil {
			return fmt.Errorf("request body: %s: %w", name, err)
		}
		if err := c.add(name, InBody, member, member, from); err != nil {
			return err
		}
	}
	return nil
}

// add enters an argument; described holds what the contract says of it for the backend.
func (c *BackendCall) add(name, in string, described, schema map[string]any, from *resolver) error {
	a := Argument{Name: name, As: name, In: in}
	var err error
	if a.wire, err = newWire(schema, from, 0); err != nil {
		return fmt.Errorf("argument %s: %w", name, err)
	}
	if as, given := described["x-sekisho-name"]; given {
		text, _ := as.(string)
		if text == "" {
			return fmt.Errorf("argument %s: x-sekisho-name %v: write the backend's name for it", name, as)
		}
		a.As = text
	}
	style, given := described["x-sekisho-style"]
	text, _ := style.(string)
	a.Style = Style(text)
	known := styles[in]
	if in == InBody && c.Body != BodyForm {
		known = nil
	}
	switch {
	case !given && len(known) > 0:
		a.Style = known[0]
	case given && known == nil:
		return fmt.Errorf("argument %s: x-sekisho-style %v: only a body of the form `form` has styles; take this line out", name, style)
	case given && !slices.Contains(known, a.Style):
		return fmt.Errorf("argument %s: x-sekisho-style %v: in a %s write one of %v", name, style, in, known)
	}
	c.Arguments = append(c.Arguments, a)
	return nil
}

var placeholder = lazy.Regexp(`\{([^{}]*)\}`)

// setPath takes the path that is given, or the operation's with the backend's names, and sees
// that it has a place for each argument in it.
func (c *BackendCall) setPath(own, given string) error {
	as := map[string]string{}
	unused := map[string]string{}
	for _, a := range c.Arguments {
		if a.In == InPath {
			as[a.Name], unused[a.As] = a.As, a.Name
		}
	}
	c.Path = given
	if given == "" {
		c.Path = placeholder().ReplaceAllStringFunc(own, func(p string) string {
			if name, ok := as[strings.Trim(p, "{+}")]; ok {
				return "{" + name + "}"
			}
			return p
		})
	}
	if !strings.HasPrefix(c.Path, "/") {
		return fmt.Errorf("x-sekisho.request.path %q: begin it with /", c.Path)
	}
	if given != "" && strings.ContainsAny(given, "?#") {
		return fmt.Errorf("x-sekisho.request.path %q: a query goes under x-sekisho.request.query, and a fragment is never sent", given)
	}
	for _, m := range placeholder().FindAllStringSubmatch(c.Path, -1) {
		if !slices.Contains(slices.Collect(maps.Values(as)), m[1]) {
			return fmt.Errorf("path %s: no path parameter is called %s; describe one under parameters", c.Path, m[1])
		}
		delete(unused, m[1])
	}
	if left := slices.Sorted(maps.Values(unused)); len(left) > 0 {
		return fmt.Errorf("path parameter %s: %s has no {%s}; write it where the value goes", left[0], c.Path, as[left[0]])
	}
	return nil
}

// checkNames: the backend must not get two values under one name, nor a header that the
// connection or the relay sets.
func (c *BackendCall) checkNames() error {
	seen := map[string]string{}
	enter := func(in, as, from string) error {
		key := in + " " + as
		if in == InHeader {
			key = in + " " + strings.ToLower(as)
			if !headerName().MatchString(as) || ReservedHeader(as) {
				return fmt.Errorf("%s: a header called %q can't be sent; take it out of the contract", from, as)
			}
		}
		if other, taken := seen[key]; taken {
			return fmt.Errorf("%s and %s both go to the %s %s of the backend: take one out, or give it another x-sekisho-name", other, from, in, as)
		}
		seen[key] = from
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(c.Query)) {
		if err := enter(InQuery, name, "x-sekisho.request.query."+name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		if err := enter(InHeader, name, "x-sekisho.request.headers."+name); err != nil {
			return err
		}
	}
	for _, a := range c.Arguments {
		if err := enter(a.In, a.As, "argument "+a.Name); err != nil {
			return err
		}
	}
	return nil
}

// headerName is a token of RFC 9110.
var headerName = lazy.Regexp("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// IdentityPrefix begins the names of the headers that tell a backend who calls. What a client
// sends under it never reaches a backend.
const IdentityPrefix = "X-Sekisho-"

// ReservedHeader reports whether a header is not a contract's to set: it belongs to the
// connection, says who calls, or holds a credential.
func ReservedHeader(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, strings.ToLower(IdentityPrefix)) || slices.Contains([]string{
		"accept-encoding", "authorization", "connection", "content-encoding", "content-length", "cookie", "expect", "host",
		"keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
	}, name)
}
