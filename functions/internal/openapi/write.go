package openapi

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// header stands at the top of what is written.
const header = `# Tools made by sekisho import. From %s
# SHA-256 %s
#
# Review it: the texts come from that description, and an agent reads them. Then edit it as you like:
#   units, tool     what a call takes from the caller's plan; tool: false serves REST only
#   texts           description, of operations and of arguments
#   operationId     CATEGORY.NAME; category_name is what agents see, at most %d characters
#   operations      remove those that nobody should call; they stay removed
# Running the same command on a newer description keeps what you have changed, and says what is new,
# gone or different. It knows by x-sekisho-source and x-sekisho-imported, and by x-sekisho-import at
# the end: leave those alone.
`

// write makes the contract, one path at a time: a large one would not fit into memory as nodes.
func (im *importer) write(tools []*tool) ([]byte, error) {
	tools = im.before.without(tools, im.report)
	byRoute := map[string][]*tool{}
	for _, t := range tools {
		byRoute[t.route] = append(byRoute[t.route], t)
	}
	paths := map[string][]byte{}
	kept := im.before.unmatched(tools, im.report)
	for _, route := range slices.Sorted(maps.Keys(byRoute)) {
		if err := im.ctx.Err(); err != nil {
			return nil, fmt.Errorf("stopped before its end: %w", err)
		}
		for _, t := range byRoute[route] {
			n := im.operation(t)
			at, method := route, strings.ToLower(t.op.method)
			if old := im.before.find(t.op.key); old != nil {
				n, at, method = merge(n, old, im.report, t.op.key), im.routeOf(t, old), old.method
			} else if im.before != nil {
				im.report.note(New, "not in the last import", t.op.key, "", t.id())
			}
			im.count(n)
			kept.add(at, method, n)
		}
		if im.before == nil {
			if err := kept.flush(paths); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range kept.own {
		im.count(n)
	}
	if err := kept.flush(paths); err != nil {
		return nil, err
	}
	return im.assemble(tools, paths)
}

// routeOf is where a known operation goes: where the person moved it to, if they did.
func (im *importer) routeOf(t *tool, old *known) string {
	if old.route != old.imported["route"] && old.imported["route"] != "" {
		return old.route
	}
	return t.route
}

func (im *importer) count(n *yaml.Node) {
	im.report.Imported++
	if memberText(member(n, "x-sekisho"), "tool") == "true" {
		im.report.Tools++
	}
}

// pathItems collects operations by route and method.
type pathItems struct {
	items map[string]mapping
	own   []*yaml.Node // operations that no import made
}

func (p *pathItems) add(route, method string, n *yaml.Node) {
	item, ok := p.items[route]
	if !ok {
		item = object()
		p.items[route] = item
	}
	item.set(method, n)
}

// flush encodes what was collected, and forgets it.
func (p *pathItems) flush(into map[string][]byte) error {
	for route, item := range p.items {
		encoded, err := encode(object().set(route, item.Node).Node, 1)
		if err != nil {
			return err
		}
		into[route] = encoded
	}
	clear(p.items)
	return nil
}

func (im *importer) assemble(tools []*tool, paths map[string][]byte) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, header, clean(im.report.Source, 300)+", "+im.report.Version, im.report.SHA256, mostName)
	top := im.before.top()
	head := object().set("openapi", text("3.0.3")).
		set("info", im.before.keep("info", im.info(), im.report)).
		set("tags", im.before.keep("tags", im.tags(tools), im.report)).
		set("x-sekisho-backends", im.before.keep("x-sekisho-backends", im.backendsNode(), im.report))
	for _, name := range []string{"openapi", "info", "tags", "x-sekisho-backends", "paths", "x-sekisho-import"} {
		delete(top, name)
	}
	for _, name := range slices.Sorted(maps.Keys(top)) {
		head.set(name, top[name])
	}
	encoded, err := encode(head.Node, 0)
	if err != nil {
		return nil, err
	}
	out.Write(encoded)
	out.WriteString("paths:\n")
	for _, route := range slices.Sorted(maps.Keys(paths)) {
		out.Write(paths[route])
	}
	encoded, err = encode(object().set("x-sekisho-import", im.record(tools)).Node, 0)
	out.Write(encoded)
	return out.Bytes(), err
}

func (im *importer) info() *yaml.Node {
	info := im.doc.root.get("info")
	return object().set("title", text(cmp.Or(im.report.Title, "Imported tools"))).
		set("version", text(cmp.Or(clean(info.text("version"), 40), "1"))).
		setText("description", brief(info.text("description"), longDescription)).Node
}

// tags describe the categories that tools are in.
func (im *importer) tags(tools []*tool) *yaml.Node {
	described := map[string]string{}
	for _, tag := range im.doc.root.list("tags") {
		described[snake(tag.text("name"))] = brief(tag.text("description"), longArgument)
	}
	categories := map[string]string{}
	for _, t := range tools {
		if len(t.op.tags) > 0 && categories[t.category] == "" {
			categories[t.category] = described[snake(t.op.tags[0])]
		} else {
			categories[t.category] += ""
		}
	}
	n := list()
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		n.Content = append(n.Content, object().set("name", text(name)).set("description", text(cmp.Or(categories[name], "Operations on "+strings.ReplaceAll(name, "_", " ")+"."))).Node)
	}
	return n
}

func (im *importer) backendsNode() *yaml.Node {
	n := object()
	for _, name := range slices.Sorted(maps.Keys(im.backends)) {
		n.set(name, object().set("type", text("http")).setText("url", im.backends[name]).flow().Node)
	}
	return n.Node
}

// operation writes one operation.
func (im *importer) operation(t *tool) *yaml.Node {
	a := im.arguments(t)
	s := im.shaper(t.op)
	answer, responses := im.answer(s, t)
	im.budget -= mostSteps - s.steps
	for _, s := range []string{t.op.summary, t.op.description} {
		if found := instructs(s); found != "" {
			im.report.note(Warning, "reads like an instruction to the model: check it", t.op.key, "", found)
		}
	}
	description := brief(cmp.Or(t.op.description, t.op.summary), longDescription)
	if description == "" {
		if description = t.op.key; t.op.id != "" {
			description = cut(fallbackText(t.op.id), longDescription)
		}
		im.report.note(Warning, "it has no description: write one", t.op.key, "", "")
	}
	if t.op.deprecated {
		description = "Deprecated. " + description
		if !im.opts.Deprecated {
			im.report.note(LeftOut, "deprecated: served, but no tool (--deprecated lists it)", t.op.key, "", "")
		}
	}
	n := object().set("operationId", text(t.id())).set("tags", stringList([]string{t.category})).
		setText("summary", cmp.Or(brief(t.op.summary, longSummary), cut(description, longSummary))).
		set("description", text(description))
	if len(a.parameters) > 0 {
		n.set("parameters", parametersNode(a.parameters))
	}
	if a.body != nil {
		body := object()
		if len(a.body.required) > 0 {
			body.set("required", scalar(true))
		}
		body.set("content", jsonContent(a.body))
		n.set("requestBody", body.Node)
	}
	n.set("responses", responses)
	n.set("x-sekisho", im.extension(t, a, answer))
	n.set("x-sekisho-source", text(t.op.key))
	n.set("x-sekisho-imported", imported(n.Node, t.route))
	return n.Node
}

func parametersNode(parameters []argument) *yaml.Node {
	n := list()
	for _, p := range parameters {
		schema := *p.schema
		description := schema.text
		schema.text = ""
		m := object().set("name", text(p.name)).set("in", text(p.in))
		if p.required {
			m.set("required", scalar(true))
		}
		m.setText("description", description).set("schema", schema.node())
		m.setText("x-sekisho-name", p.wire).setText("x-sekisho-in", p.wireIn).setText("x-sekisho-style", p.style)
		n.Content = append(n.Content, m.Node)
	}
	return n
}

func jsonContent(s *schema) *yaml.Node {
	return object().set("application/json", object().set("schema", s.node()).Node).Node
}

// extension is what the service itself needs to know.
func (im *importer) extension(t *tool, a *arguments, answer string) *yaml.Node {
	method := t.op.method
	get, put, del := method == "GET", method == "PUT", method == "DELETE"
	annotations := object().set("readOnlyHint", scalar(get)).
		set("destructiveHint", scalar(put || del || method == "PATCH")).
		set("idempotentHint", scalar(get || put || del)).set("openWorldHint", scalar(true)).flow()
	n := object().set("backend", text(t.backend)).set("units", scalar(1)).setText("code", t.code).
		set("tool", scalar(!t.op.deprecated || im.opts.Deprecated)).set("annotations", annotations.Node)
	request := object()
	ours := placeholder.ReplaceAllStringFunc(t.route, func(s string) string { return "{" + t.wireName(s) + "}" })
	if ours != t.place.path {
		request.set("path", text(t.place.path))
	}
	if a.bodyKind != "" && a.bodyKind != "json" {
		request.set("body", text(a.bodyKind))
	}
	if len(a.query) > 0 {
		query := object()
		for _, name := range slices.Sorted(maps.Keys(a.query)) {
			query.set(name, text(a.query.Get(name)))
		}
		request.set("query", query.flow().Node)
	}
	if len(a.headers) > 0 {
		headers := object()
		for _, name := range slices.Sorted(maps.Keys(a.headers)) {
			headers.set(name, text(a.headers[name]))
		}
		request.set("headers", headers.flow().Node)
	}
	if len(request.Content) > 0 {
		n.set("request", request.Node)
	}
	return n.setText("answer", answer).Node
}

// answer says what MCP makes of the backend's answer, and describes it.
func (im *importer) answer(s *shaper, t *tool) (answer string, responses *yaml.Node) {
	description, c, err := im.doc.answer(t.op)
	if err != nil {
		s.notes(Simplified, "the answer is not described: its reference can't be followed", "answer", err.Error())
	}
	ok := object().set("description", text(cmp.Or(brief(description, longArgument), "The backend's answer.")))
	wrap := func(name string, inner *schema) {
		ok.set("content", jsonContent(&schema{kind: "object", open: true, members: map[string]*schema{name: inner}}))
	}
	media, _, _ := strings.Cut(c.media, ";")
	switch {
	case c.media == "":
	case !isJSON(c.media) && (strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "xml")):
		answer = "text"
		wrap("text", &schema{kind: "string"})
	case !isJSON(c.media):
		s.notes(Simplified, "the answer is neither JSON nor text: it is not described", "answer", media)
	case c.schema.object() == nil:
	default:
		made := s.answerSchema(c.schema)
		switch {
		case made == nil || made.kind == "":
			s.notes(Simplified, "the answer's kind is not known: it is not described", "answer", "")
		case made.kind == "object":
			ok.set("content", jsonContent(made))
		default:
			answer = "wrapped"
			wrap("result", made)
		}
	}
	return answer, object().set("200", ok.Node).Node
}
