package openapi

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// argument is a parameter of ours: in the path or the query.
type argument struct {
	name     string
	in       string // path or query
	required bool
	schema   *schema
	wire     string // the backend's name, if it is another one
	wireIn   string // header, if it travels there
	style    string
}

// arguments are all of an operation's, in one namespace, and what is sent without asking.
type arguments struct {
	parameters []argument
	body       *schema // an object of arguments; nil if none
	bodyKind   string  // json, form, text or value
	query      url.Values
	headers    map[string]string

	taken map[string]bool // names of ours
	sent  map[string]bool // place and name of the backend's
}

// headerName is a token of RFC 9110.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

const (
	mostArguments  = 100
	parameterNodes = 40
)

func (im *importer) arguments(t *tool) *arguments {
	a := &arguments{query: t.place.query, headers: map[string]string{}, taken: map[string]bool{}, sent: map[string]bool{}}
	s := im.shaper(t.op)
	for _, wire := range t.place.names {
		p := parameter{name: wire, in: "path", schema: node{im.doc.root.file, map[string]any{"type": "string"}}, style: "comma"}
		if i := slices.IndexFunc(t.op.parameters, func(p parameter) bool { return p.in == "path" && p.name == wire }); i >= 0 {
			p = t.op.parameters[i]
		} else {
			s.notes(Warning, "the path has it, and the description doesn't say what it is: a string", wire, "")
		}
		p.required = true
		im.addParameter(a, s, p, t.arguments[wire])
	}
	for _, in := range []string{"query", "header"} {
		for _, p := range t.op.parameters {
			if p.in == in {
				im.addParameter(a, s, p, "")
			}
		}
	}
	for _, p := range t.op.parameters {
		switch {
		case p.in == "cookie":
			s.notes(LeftOut, "cookies are not sent", p.name, "")
		case p.in == "path" && !slices.Contains(t.place.names, p.name):
			s.notes(LeftOut, "said to be in the path, which has no such place", p.name, "")
		case p.in != "path" && p.in != "query" && p.in != "header":
			s.notes(LeftOut, "in a place that OpenAPI doesn't know", p.name, p.in)
		}
	}
	im.addBody(a, s, t)
	return a
}

// shaper reads the schemas of one operation.
func (im *importer) shaper(op *operation) *shaper {
	steps := mostSteps
	if im.budget <= 0 {
		steps = fewSteps
	}
	return &shaper{doc: im.doc, steps: steps, notes: func(kind Kind, reason, argument, detail string) {
		im.report.note(kind, reason, op.key, argument, detail)
	}}
}

func (im *importer) addParameter(a *arguments, s *shaper, p parameter, name string) {
	lower := strings.ToLower(p.name)
	switch {
	case im.credentials.carries(p):
		s.notes(LeftOut, "a credential: the operator gives it, not the caller", p.name, "")
		return
	case p.in == "header" && setByExchange(p.name):
		s.notes(LeftOut, "a header that the exchange itself sets", p.name, "")
		return
	case p.name != clean(p.name, 200):
		s.notes(LeftOut, "a name with characters that can't be seen, or a very long one", p.name, "")
		return
	case p.in == "header" && !headerName.MatchString(p.name):
		s.notes(LeftOut, "not a name that a header can have", p.name, "")
		return
	case a.sent[p.in+" "+lower] && p.in == "header", a.sent[p.in+" "+p.name]:
		s.notes(LeftOut, "described twice", p.name, "")
		return
	case p.in == "query" && a.query.Has(p.name):
		return // the path itself says it
	}
	n, v := s.parameterShape(p)
	switch {
	case p.in != "path" && p.required && v.kind == "string" && len(v.choices) == 1 && p.style != "json":
		if only, ok := v.choices[0].(string); ok && only == clean(only, 200) && !strings.ContainsAny(only, "{}") {
			if p.in == "query" {
				a.query.Set(p.name, only)
				a.sent["query "+p.name] = true
			} else {
				a.headers[p.name] = only
				a.sent["header "+lower] = true
			}
			s.notes(Simplified, "it has only one value, which is always sent", p.name, only)
			return
		}
	case v.kind == "object" && len(v.properties) > 0 && p.in == "query" && p.style == "form":
		for _, member := range slices.Sorted(maps.Keys(v.properties)) {
			im.addParameter(a, s, parameter{
				name: member, in: "query", required: p.required && v.required[member], schema: v.properties[member], style: "comma",
			}, "")
		}
		return
	}
	if !p.required && len(a.parameters) >= mostArguments {
		s.notes(LeftOut, fmt.Sprintf("more than %d arguments", mostArguments), p.name, "")
		return
	}
	a.sent[p.in+" "+p.name] = true
	if p.in == "header" {
		a.sent["header "+lower] = true
	}
	made := s.parameterSchema(p, n, v)
	a.add(s, p, made, name)
}

// parameterShape is a parameter's schema, with the parameter's own description before it.
func (s *shaper) parameterShape(p parameter) (node, *shape) {
	wrapped := map[string]any{}
	if p.schema.object() != nil {
		wrapped["allOf"] = []any{p.schema.value}
	}
	if p.description != "" {
		wrapped["description"] = p.description
	}
	if p.example != nil {
		wrapped["example"] = p.example
	}
	n := node{p.schema.file, wrapped}
	if n.file == nil {
		n.file = s.doc.root.file
	}
	v, err := s.shape(n, 0)
	if err != nil {
		var reference *referenceError
		if errors.As(err, &reference) {
			s.notes(Simplified, "a reference can't be followed: a string", p.name, err.Error())
		} else {
			s.notes(Simplified, "too large to be described: a string", p.name, "")
		}
		v = &shape{text: p.description}
	}
	return n, v
}

// parameterSchema describes what travels as text: what has no plain kind is a string there.
func (s *shaper) parameterSchema(p parameter, n node, v *shape) *schema {
	structured := p.style == "deep" || p.style == "json"
	switch {
	case v.kind == "object" && structured && len(v.properties) > 0, v.kind == "array":
		return s.argument(n, p.name, parameterNodes)
	case v.kind == "string" || v.kind == "integer" || v.kind == "number" || v.kind == "boolean":
		return s.argument(n, p.name, 1)
	case v.kind == "object":
		s.notes(Simplified, "an object that is sent as text: a string, as the backend takes it", p.name, "")
	case v.mixed != "":
		s.notes(Simplified, "of more than one kind: a string", p.name, v.mixed)
	}
	v.kind = "string"
	return &schema{kind: "string", text: describe(v)}
}

// add gives a parameter its name among ours.
func (a *arguments) add(s *shaper, p parameter, made *schema, name string) {
	if name == "" {
		name = argumentNameFor(p.name, func(string) bool { return false })
		if a.taken[name] {
			name = shorten(name, mostArgument-len(p.in)-1) + "_" + p.in
		}
		name = argumentNameFor(name, func(name string) bool { return a.taken[name] })
		if name != p.name {
			s.notes(Renamed, "not a name that every host takes, or taken", p.name, name)
		}
	}
	a.taken[name] = true
	if made.text == "" {
		made.text = fallbackText(p.name)
	}
	out := argument{name: name, in: "query", required: p.required, schema: made}
	if p.in == "path" {
		out.in = "path"
	}
	if name != p.name {
		out.wire = p.name
	}
	if p.in == "header" {
		out.wireIn = "header"
	}
	if made.kind == "array" || made.kind == "object" || p.style == "json" {
		out.style = p.style
	}
	a.parameters = append(a.parameters, out)
}

// addBody makes arguments of the body's members, or one argument of a body that has none.
func (im *importer) addBody(a *arguments, s *shaper, t *tool) {
	c, kind, _ := t.op.body()
	if kind == "" {
		return
	}
	if t.op.method == "GET" {
		s.notes(LeftOut, "a GET has no body", "body", c.media)
		return
	}
	if media, _, _ := strings.Cut(c.media, ";"); kind == "json" && media != "application/json" && !strings.Contains(media, "*") {
		a.headers["Content-Type"] = clean(media, 80)
	}
	if strings.HasPrefix(strings.ToLower(c.media), "multipart/") {
		s.notes(Simplified, "multipart without files: sent as an URL-encoded form; check that the backend takes it", "body", "")
	}
	whole := &schema{kind: "string", text: firstText(brief(t.op.bodyText, longArgument), "The body, as text.")}
	if kind != "text" {
		if c.schema.object() == nil {
			c.schema = node{im.doc.root.file, map[string]any{}}
		}
		if whole = s.argument(c.schema, "body", mostNodes); whole.kind == "object" {
			a.flatten(s, whole)
			a.bodyKind = kind
			if kind == "form" {
				a.styleForm(c)
			}
			return
		}
		if kind == "form" {
			s.notes(LeftOut, "a form without named fields", "body", "")
			return
		}
		kind = "value"
	}
	a.bodyKind = kind
	for i := range a.parameters { // the name belongs to the body
		if p := &a.parameters[i]; p.name == "body" {
			p.wire, p.name = firstText(p.wire, p.name), argumentNameFor("body_"+p.in, func(name string) bool { return a.taken[name] })
			s.notes(Renamed, "not a name that every host takes, or taken", "body", p.name)
		}
	}
	if whole.text == "" {
		whole.text = firstText(brief(t.op.bodyText, longArgument), "The body.")
	}
	a.body = &schema{kind: "object", members: map[string]*schema{"body": whole}}
	if t.op.bodyRequired {
		a.body.required = []string{"body"}
	}
}

// flatten gives the members of the body their names among all arguments.
func (a *arguments) flatten(s *shaper, body *schema) {
	flat := &schema{kind: "object", members: map[string]*schema{}}
	for _, name := range slices.Sorted(maps.Keys(body.members)) {
		member, ours := body.members[name], name
		if a.taken[name] {
			ours = argumentNameFor(shorten(name, mostArgument-5)+"_body", func(n string) bool { return a.taken[n] || body.members[n] != nil })
			member.wire = firstText(member.wire, name)
			s.notes(Renamed, "not a name that every host takes, or taken", name, ours)
		}
		a.taken[ours] = true
		flat.members[ours] = member
		if slices.Contains(body.required, name) {
			flat.required = append(flat.required, ours)
		}
	}
	a.body = flat
}

// styleForm says how lists and objects are written in a form.
func (a *arguments) styleForm(c content) {
	for name, member := range a.body.members {
		described := c.encoding.get(firstText(member.wire, name))
		switch {
		case member.kind == "object", member.kind == "array" && (described.text("style") == "deepObject" || member.items.kind == "object"):
			member.style = "deep"
		case member.kind == "array" && described.get("explode").value == false:
			member.style = "comma"
		}
	}
}
