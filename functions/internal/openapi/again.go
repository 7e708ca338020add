package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"sekisho/functions/internal/contract"
)

// An import that is run again compares three states of each field: as the last import wrote it,
// as it is in the file now, and as the description has it now. Of the first the file keeps a
// digest, in x-sekisho-imported. What a person changed stays, and all else follows the
// description.

// previous is what an earlier import wrote, and a person may have edited. A nil one is none.
type previous struct {
	root       *yaml.Node
	record     *yaml.Node
	operations map[string]*known // by key, as in x-sekisho-source
	own        []*known          // those that a person added
	imported   map[string]bool   // keys of the last import
}

// known is an operation of the file.
type known struct {
	key, route, method string
	node               *yaml.Node
	imported           map[string]string
}

func readPrevious(data []byte) (*previous, error) {
	if data == nil {
		return nil, nil
	}
	if len(data) > 8*MaxBytes {
		return nil, fmt.Errorf("the contract to be updated has more than %d MB", 8*MaxBytes>>20)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("the contract to be updated is not valid YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, ErrNotImported
	}
	p := &previous{root: doc.Content[0], operations: map[string]*known{}, imported: map[string]bool{}}
	if p.record = member(p.root, "x-sekisho-import"); p.record == nil {
		return nil, ErrNotImported
	}
	for _, n := range contentOf(member(p.record, "operations")) {
		p.imported[n.Value] = true
	}
	paths := contentOf(member(p.root, "paths"))
	for i := 0; i+1 < len(paths); i += 2 {
		item := contentOf(paths[i+1])
		for j := 0; j+1 < len(item); j += 2 {
			k := &known{key: memberText(item[j+1], "x-sekisho-source"), route: paths[i].Value, method: item[j].Value, node: item[j+1], imported: map[string]string{}}
			fields := contentOf(member(k.node, "x-sekisho-imported"))
			for f := 0; f+1 < len(fields); f += 2 {
				k.imported[fields[f].Value] = fields[f+1].Value
			}
			if k.key == "" || p.operations[k.key] != nil {
				p.own = append(p.own, k)
				continue
			}
			p.operations[k.key] = k
		}
	}
	return p, nil
}

func contentOf(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	return n.Content
}

// options takes from the last import what this one's command line leaves open.
func (p *previous) options(o Options) Options {
	if p == nil {
		return o
	}
	o.Backend = cmp.Or(o.Backend, memberText(p.record, "backend"))
	o.Prefix = cmp.Or(o.Prefix, memberText(p.record, "prefix"))
	if len(o.Include) == 0 && len(o.Exclude) == 0 && !o.ReadOnly && !o.Deprecated {
		for _, n := range contentOf(member(p.record, "include")) {
			o.Include = append(o.Include, n.Value)
		}
		for _, n := range contentOf(member(p.record, "exclude")) {
			o.Exclude = append(o.Exclude, n.Value)
		}
		o.ReadOnly = memberText(p.record, "read_only") == "true"
		o.Deprecated = memberText(p.record, "deprecated") == "true"
	}
	return o
}

// record is what the next import needs to know of this one.
func (im *importer) record(tools []*tool) *yaml.Node {
	n := object().set("from", text(im.report.Source)).set("sha256", text(im.report.SHA256)).
		setText("backend", im.backend).setText("prefix", im.opts.Prefix)
	if len(im.opts.Include) > 0 {
		n.set("include", stringList(im.opts.Include))
	}
	if len(im.opts.Exclude) > 0 {
		n.set("exclude", stringList(im.opts.Exclude))
	}
	if im.opts.ReadOnly {
		n.set("read_only", scalar(true))
	}
	if im.opts.Deprecated {
		n.set("deprecated", scalar(true))
	}
	fields := object().set("info", text(digest(im.info()))).set("tags", text(digest(im.tags(tools)))).
		set("x-sekisho-backends", text(digest(im.backendsNode())))
	keys := list()
	all := im.before.removed()
	for _, t := range tools {
		all[t.op.key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		keys.Content = append(keys.Content, text(key))
	}
	return n.set("fields", fields.Node).set("operations", keys).Node
}

// removed are the operations that were imported once and that a person has taken out.
func (p *previous) removed() map[string]bool {
	removed := map[string]bool{}
	if p != nil {
		for key := range p.imported {
			if p.operations[key] == nil {
				removed[key] = true
			}
		}
	}
	return removed
}

// names are those that the file's operations have, as hosts list them.
func (p *previous) names() map[string]bool {
	names := map[string]bool{}
	if p != nil {
		for _, k := range slices.Concat(slices.Collect(maps.Values(p.operations)), p.own) {
			names[contract.FoldedName(memberText(k.node, "operationId"))] = true
		}
	}
	return names
}

// codes are those of the file's counters.
func (p *previous) codes() map[string]bool {
	codes := map[string]bool{}
	if p != nil {
		for _, k := range slices.Concat(slices.Collect(maps.Values(p.operations)), p.own) {
			codes[cmp.Or(memberText(member(k.node, "x-sekisho"), "code"), contract.CodeOf(memberText(k.node, "operationId")))] = true
		}
	}
	return codes
}

// nameOf is the name that the last import gave an operation, if it is still the one in the file.
func (p *previous) nameOf(key string) (category, name string, ok bool) {
	k := p.find(key)
	if k == nil {
		return "", "", false
	}
	id := member(k.node, "operationId")
	if id == nil || digest(id) != k.imported["operationId"] {
		return "", "", false
	}
	return strings.Cut(id.Value, ".")
}

func (p *previous) find(key string) *known {
	if p == nil {
		return nil
	}
	return p.operations[key]
}

// without leaves out what a person removed from the file.
func (p *previous) without(tools []*tool, r *Report) []*tool {
	if p == nil {
		return tools
	}
	return slices.DeleteFunc(tools, func(t *tool) bool {
		gone := p.imported[t.op.key] && p.operations[t.op.key] == nil
		if gone {
			r.note(Kept, "you removed it", t.op.key, "", "")
		}
		return gone
	})
}

// unmatched are the file's operations that the description has no longer, as far as they stay:
// those that a person made or edited.
func (p *previous) unmatched(tools []*tool, r *Report) *pathItems {
	items := &pathItems{items: map[string]mapping{}}
	if p == nil {
		return items
	}
	here := map[string]bool{}
	for _, t := range tools {
		here[t.op.key] = true
	}
	stay := func(k *known) {
		items.add(k.route, k.method, k.node)
		items.own = append(items.own, k.node)
	}
	for _, k := range p.own {
		r.note(Kept, "you added it", strings.ToUpper(k.method)+" "+k.route, "", "")
		stay(k)
	}
	for _, key := range slices.Sorted(maps.Keys(p.operations)) {
		k := p.operations[key]
		switch {
		case here[key]:
		case k.edited():
			r.note(Gone, "not in the description (or not chosen) any more; kept, since you edited it", key, "", memberText(k.node, "operationId"))
			stay(k)
		default:
			r.note(Gone, "not in the description (or not chosen) any more", key, "", memberText(k.node, "operationId"))
		}
	}
	return items
}

func (k *known) edited() bool {
	fields := fieldsOf(k.node)
	if k.route != k.imported["route"] {
		return true
	}
	for _, f := range fields {
		if digest(f.node) != k.imported[f.name] {
			return true
		}
	}
	return len(fields) != len(k.imported)-1 // the route is none of the node's
}

// top are the members of the file at its top.
func (p *previous) top() map[string]*yaml.Node {
	members := map[string]*yaml.Node{}
	if p != nil {
		for i := 0; i+1 < len(p.root.Content); i += 2 {
			members[p.root.Content[i].Value] = p.root.Content[i+1]
		}
	}
	return members
}

// keep chooses between a part of the file and its successor.
func (p *previous) keep(name string, now *yaml.Node, r *Report) *yaml.Node {
	if p == nil {
		return now
	}
	old, was := member(p.root, name), memberText(member(p.record, "fields"), name)
	if old == nil {
		return now
	}
	switch digest(old) {
	case digest(now):
		return old
	case was:
		return now
	}
	r.note(Kept, "you changed it", "", name, differs(was, digest(now)))
	return old
}

func differs(was, now string) string {
	if was == now {
		return ""
	}
	return "the description changed it too: compare"
}

// field is a part of an operation that a person may change apart from the others.
type field struct {
	name string
	node *yaml.Node
}

// fieldsOf takes an operation apart; assemble puts it together.
func fieldsOf(n *yaml.Node) (fields []field) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		switch name {
		case "x-sekisho-source", "x-sekisho-imported":
		case "parameters":
			for _, p := range value.Content {
				wire := cmp.Or(memberText(p, "x-sekisho-name"), memberText(p, "name"))
				fields = append(fields, field{"parameter " + cmp.Or(memberText(p, "x-sekisho-in"), memberText(p, "in")) + " " + wire, p})
			}
		case "requestBody":
			fields = append(fields, bodyFields(value)...)
		case "x-sekisho":
			for j := 0; j+1 < len(value.Content); j += 2 {
				fields = append(fields, field{"x-sekisho " + value.Content[j].Value, value.Content[j+1]})
			}
		default:
			fields = append(fields, field{name, value})
		}
	}
	return fields
}

// bodyFields are the members of the body one by one, and the names of the required ones.
func bodyFields(body *yaml.Node) (fields []field) {
	schema := member(member(member(body, "content"), "application/json"), "schema")
	required := map[string]bool{}
	for _, n := range contentOf(member(schema, "required")) {
		required[n.Value] = true
	}
	properties := contentOf(member(schema, "properties"))
	for i := 0; i+1 < len(properties); i += 2 {
		name, value := properties[i].Value, properties[i+1]
		whole := object().set("name", text(name)).set("required", scalar(required[name])).set("schema", value)
		fields = append(fields, field{"body " + cmp.Or(memberText(value, "x-sekisho-name"), name), whole.Node})
	}
	return fields
}

// imported are the digests of an operation's fields as they are imported.
func imported(n *yaml.Node, route string) *yaml.Node {
	digests := object().set("route", text(route))
	for _, f := range fieldsOf(n) {
		digests.set(f.name, text(digest(f.node)))
	}
	return digests.flow().Node
}

// merge takes of an operation what a person changed from the file, and the rest as it is now.
func merge(now *yaml.Node, old *known, r *Report, key string) *yaml.Node {
	olds, news := map[string]*yaml.Node{}, map[string]*yaml.Node{}
	for _, f := range fieldsOf(old.node) {
		olds[f.name] = f.node
	}
	var merged []field
	for _, f := range fieldsOf(now) {
		news[f.name] = f.node
		if n := choose(f.name, old.imported[f.name], olds[f.name], f.node, r, key); n != nil {
			merged = append(merged, field{f.name, n})
		}
	}
	for _, f := range fieldsOf(old.node) {
		if news[f.name] != nil {
			continue
		}
		if n := choose(f.name, old.imported[f.name], f.node, nil, r, key); n != nil {
			merged = append(merged, field{f.name, n})
		}
	}
	return together(merged, key, member(now, "x-sekisho-imported"))
}

// choose is the three-way comparison of one field; nil leaves it out.
func choose(name, was string, old, now *yaml.Node, r *Report, key string) *yaml.Node {
	switch {
	case old == nil && was == "":
		r.note(Different, "the description has more", key, name, "")
		return now
	case old == nil: // a person removed it
		r.note(Kept, "you removed it", key, name, differs(was, digest(now)))
		return nil
	case now == nil && digest(old) == was:
		r.note(Different, "the description has it no longer", key, name, "")
		return nil
	case now == nil:
		r.note(Kept, "you added or changed it", key, name, "")
		return old
	}
	switch digest(old) {
	case digest(now):
		return old
	case was:
		r.note(Different, "the description changed it", key, name, "")
		return now
	}
	r.note(Kept, "you changed it", key, name, differs(was, digest(now)))
	return old
}

// together is the reverse of fieldsOf.
func together(fields []field, key string, digests *yaml.Node) *yaml.Node {
	parameters, required, properties, extension := list(), list(), object(), object()
	required.Style = yaml.FlowStyle
	plain := object()
	for _, f := range fields {
		kind, name, _ := strings.Cut(f.name, " ")
		switch kind {
		case "parameter":
			parameters.Content = append(parameters.Content, f.node)
		case "body":
			ours := memberText(f.node, "name")
			properties.set(ours, member(f.node, "schema"))
			if memberText(f.node, "required") == "true" {
				required.Content = append(required.Content, text(ours))
			}
		case "x-sekisho":
			extension.set(name, f.node)
		default:
			plain.set(f.name, f.node)
		}
	}
	n := object()
	for _, name := range []string{"operationId", "tags", "summary", "description"} {
		n.set(name, member(plain.Node, name))
	}
	if len(parameters.Content) > 0 {
		n.set("parameters", parameters)
	}
	if len(properties.Content) > 0 {
		schema := object().set("type", text("object"))
		body := object()
		if len(required.Content) > 0 {
			schema.set("required", required)
			body.set("required", scalar(true))
		}
		schema.set("properties", properties.Node).set("additionalProperties", scalar(false))
		n.set("requestBody", body.set("content", object().set("application/json", object().set("schema", schema.Node).Node).Node).Node)
	}
	for i := 0; i+1 < len(plain.Content); i += 2 {
		if name := plain.Content[i].Value; member(n.Node, name) == nil {
			n.set(name, plain.Content[i+1])
		}
	}
	n.set("x-sekisho", extension.Node)
	return n.set("x-sekisho-source", text(key)).set("x-sekisho-imported", digests).Node
}
