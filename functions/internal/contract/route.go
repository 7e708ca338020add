package contract

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Routes finds what serves a method on a path, in API Gateway's order: an exact segment goes
// before {name}, and that before {name+}. A segment with text around its parameters, such as
// {id}.json, which only API Gateway's greedy paths can carry, lies between the first two.
type Routes[T any] struct{ root node[T] }

// node is a resource in the tree of paths.
type node[T any] struct {
	literals map[string]*node[T]
	mixed    []mixed[T] // the one with most text first
	// param is the child {name}, greedy the child {name+}.
	param, greedy *node[T]
	// methods that the resource has, ANY among them.
	methods map[string]end[T]
}

// end of a path. The names of its parameters lie here, because those of another path through
// the same nodes may differ.
type end[T any] struct {
	value T
	path  string
	names []string
}

// mixed is a segment of text and parameters: texts[0] {} texts[1] {} … texts[n].
type mixed[T any] struct {
	texts []string
	next  *node[T]
}

// Add enters a route under its path. Two paths that differ in nothing but the names of their
// parameters are one.
func (r *Routes[T]) Add(method, path string, value T) error {
	at := &r.root
	var names []string
	for _, segment := range segments(path) {
		texts, params, err := parts(segment)
		if err != nil {
			return fmt.Errorf("path %s: %w", path, err)
		}
		names = append(names, params...)
		at = at.child(segment, texts, params)
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, "+")
	}
	if at.methods == nil {
		at.methods = map[string]end[T]{}
	}
	if other, taken := at.methods[method]; taken {
		return fmt.Errorf("%s %s and %s %s are one route: give one of them another path", method, other.path, method, path)
	}
	at.methods[method] = end[T]{value, path, names}
	return nil
}

// parts cuts a segment into texts and the names between them.
func parts(segment string) (texts, names []string, err error) {
	rest := segment
	for {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return nil, nil, fmt.Errorf("unpaired brace in %q", segment)
		}
		if texts = append(texts, text); !found {
			return texts, names, nil
		}
		name, after, found := strings.Cut(after, "}")
		if !found || strings.Contains(name, "{") {
			return nil, nil, fmt.Errorf("unpaired brace in %q", segment)
		}
		if len(names) > 0 && text == "" {
			return nil, nil, fmt.Errorf("nothing lies between two parameters in %q, so none of them can be read", segment)
		}
		names, rest = append(names, name), after
	}
}

func (n *node[T]) child(segment string, texts, names []string) *node[T] {
	isParam := len(names) == 1 && texts[0] == "" && texts[1] == ""
	switch {
	case isParam && strings.HasSuffix(names[0], "+"):
		n.greedy = cmp.Or(n.greedy, &node[T]{})
		return n.greedy
	case isParam:
		n.param = cmp.Or(n.param, &node[T]{})
		return n.param
	case len(names) > 0 || !isPlain(segment):
		return n.mixedChild(texts)
	}
	if n.literals == nil {
		n.literals = map[string]*node[T]{}
	}
	if n.literals[segment] == nil {
		n.literals[segment] = &node[T]{}
	}
	return n.literals[segment]
}

// isPlain says whether API Gateway takes a segment as a resource
// (docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-settings.html).
func isPlain(segment string) bool {
	return segment != "" && !strings.ContainsFunc(segment, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._:-", r))
	})
}

func (n *node[T]) mixedChild(texts []string) *node[T] {
	for _, m := range n.mixed {
		if slices.Equal(m.texts, texts) {
			return m.next
		}
	}
	next := &node[T]{}
	n.mixed = append(n.mixed, mixed[T]{texts, next})
	slices.SortFunc(n.mixed, func(a, b mixed[T]) int {
		x, y := strings.Join(a.texts, "{}"), strings.Join(b.texts, "{}")
		return cmp.Or(cmp.Compare(len(strings.Join(b.texts, "")), len(strings.Join(a.texts, ""))), cmp.Compare(x, y))
	})
	return next
}

// match reads the parameters of a segment. Each takes as little as it can, the last one the rest.
func (m mixed[T]) match(segment string) (values []string, ok bool) {
	rest, err := url.PathUnescape(segment)
	if err != nil {
		return nil, false
	}
	if rest, ok = strings.CutPrefix(rest, m.texts[0]); !ok {
		return nil, false
	}
	for i, text := range m.texts[1:] {
		var at int
		switch last := i == len(m.texts)-2; {
		case last && !strings.HasSuffix(rest, text):
			return nil, false
		case last:
			at = len(rest) - len(text)
		default:
			if at = strings.Index(rest[min(1, len(rest)):], text) + 1; at == 0 {
				return nil, false
			}
		}
		if at < 1 {
			return nil, false
		}
		values, rest = append(values, url.PathEscape(rest[:at])), rest[at+len(text):]
	}
	return values, rest == ""
}

// Match finds the route of a method on a path as it was sent; found is false when there is none.
// The parameters stay percent-encoded. The resource is chosen by its path alone: when it lacks
// the method, nothing else is tried.
func (r *Routes[T]) Match(method, path string) (value T, params map[string]string, found bool) {
	n, values := r.root.find(segments(path), nil)
	if n == nil {
		return value, nil, false
	}
	e, found := n.methods[method]
	if !found && slices.Contains(verbs, method) {
		e, found = n.methods[anyMethod]
	}
	if !found {
		return value, nil, false
	}
	for i, name := range e.names {
		if params == nil {
			params = map[string]string{}
		}
		params[name] = values[i]
	}
	return e.value, params, true
}

func (n *node[T]) find(rest, values []string) (*node[T], []string) {
	if len(rest) == 0 {
		if n.methods == nil {
			return nil, nil
		}
		return n, values
	}
	values = slices.Clip(values)
	if next := n.literals[rest[0]]; next != nil {
		if found, all := next.find(rest[1:], values); found != nil {
			return found, all
		}
	}
	for _, m := range n.mixed {
		if read, ok := m.match(rest[0]); ok {
			if found, all := m.next.find(rest[1:], append(values, read...)); found != nil {
				return found, all
			}
		}
	}
	if n.param != nil && rest[0] != "" {
		if found, all := n.param.find(rest[1:], append(values, rest[0])); found != nil {
			return found, all
		}
	}
	if n.greedy != nil && n.greedy.methods != nil {
		return n.greedy, append(values, strings.Join(rest, "/"))
	}
	return nil, nil
}

// segments splits a path; slashes at its end count for nothing, nor do several at its start.
func segments(path string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

const anyMethod = "ANY"

// verbs are the methods that ANY matches
// (docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-settings-method-request.html).
var verbs = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

func (a *API) newRoutes() (*Routes[*Operation], error) {
	routes := &Routes[*Operation]{}
	for _, op := range a.Operations {
		if err := routes.Add(op.Method, op.Path, op); err != nil {
			return nil, fmt.Errorf("contract: %w", err)
		}
	}
	return routes, nil
}

// Match finds the operation for a method on a concrete path, as it was sent, with the values of
// the path's parameters, still percent-encoded; nil if there is none.
func (a *API) Match(method, path string) (*Operation, map[string]string) {
	routes, err := a.routes()
	if err != nil {
		return nil, nil
	}
	op, params, _ := routes.Match(method, path)
	return op, params
}

// Resolve finds the operation that API Gateway means by a method on a resource, with the resource's
// parameters; nil if there is none. Where operations share the resource, or it calls their
// parameters by other names, it goes by the path that the parameters make.
func (a *API) Resolve(method, resource string, params map[string]string) (*Operation, map[string]string) {
	op := a.byResource[method+" "+resource]
	if op == nil {
		op = a.byResource[anyMethod+" "+resource]
	}
	if op == nil || op.Path == op.Resource {
		return op, params
	}
	steps := segments(resource)
	for i, step := range steps {
		if name, isParam := strings.CutPrefix(step, "{"); isParam {
			steps[i] = params[strings.TrimRight(name, "+}")]
		}
	}
	if op, params = a.Match(method, "/"+strings.Join(steps, "/")); op == nil || op.Resource != resource {
		return nil, nil
	}
	return op, params
}

// Shares says whether operations share a resource. Of its paths some may be no operation's.
func (a *API) Shares(resource string) bool {
	op := a.byResource[anyMethod+" "+resource]
	return op != nil && op.Shared()
}

// ResourceMethod is API Gateway's method for the operation.
func (op *Operation) ResourceMethod() string {
	if op.Shared() {
		return anyMethod
	}
	return op.Method
}

// Shared says whether the operation lies under a greedy path, which it may share with others.
func (op *Operation) Shared() bool {
	return op.Resource != op.Path && strings.HasSuffix(op.Resource, "+}")
}

// Method is one method of an API's stage, as API Gateway throttles it.
type Method struct {
	// Name is verb and resource, such as "GET /v1/health".
	Name string
	// Operation is one that it carries. Others share its function, and need a key as it does.
	Operation *Operation
}

// Methods are those of the stage, in the order of the operations. ANY is one for each verb.
func (a *API) Methods() (all []Method) {
	seen := map[string]bool{}
	for _, op := range a.Operations {
		of := []string{op.ResourceMethod()}
		if of[0] == anyMethod {
			of = verbs
		}
		for _, verb := range of {
			if name := verb + " " + op.Resource; !seen[name] {
				seen[name] = true
				all = append(all, Method{name, op})
			}
		}
	}
	return all
}
