package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// operation is one of the description, in either format.
type operation struct {
	key          string // "GET /pets/{petId}": what it is known by from one import to the next
	method, path string
	id           string
	tags         []string
	summary      string
	description  string
	deprecated   bool
	parameters   []parameter
	bodies       []content
	bodyRequired bool
	bodyText     string // its description
	answers      node
	produces     []string // Swagger 2.0
	security     node     // a list, or nothing
	servers      []node
}

// parameter is one of an operation, wherever it travels.
type parameter struct {
	name, in    string
	description string
	required    bool
	schema      node
	style       string // form, comma, space, pipe, deep, json, spread; see styleOf
	example     any
}

// content is one of the forms that a body is described in.
type content struct {
	media    string
	schema   node
	encoding node // how fields of a form are written
	files    bool // in a multipart body: what only that can carry
}

// MaxOperations is more than any known description has: Microsoft Graph has 22,361.
const MaxOperations = 50_000

var methods = []string{"get", "put", "post", "delete", "patch"}

// operations lists what can be imported, by path and method, and reports the rest.
func (d *document) operations(r *Report) ([]*operation, error) {
	if paths := d.root.get("paths"); paths.value != nil && paths.object() == nil {
		return nil, fmt.Errorf("#/paths is not an object")
	}
	r.leftOutMembers(d.root, "", "webhooks")
	var ops []*operation
	for path, item := range d.root.get("paths").members() {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		target, err := d.follow(item)
		if err != nil {
			r.note(LeftOut, "its path can't be read", path, "", err.Error())
			continue
		}
		for _, method := range []string{"head", "options", "trace", "query"} {
			if target.has(method) {
				r.note(LeftOut, "the method is not one for a tool", strings.ToUpper(method)+" "+path, "", "")
			}
		}
		for _, method := range methods {
			n := target.get(method)
			if n.object() == nil {
				continue
			}
			if len(ops) == MaxOperations {
				return nil, fmt.Errorf("more than %d operations: choose some with --include", MaxOperations)
			}
			ops = append(ops, d.operation(r, strings.ToUpper(method), path, target, n))
		}
	}
	return ops, nil
}

func (d *document) operation(r *Report, method, path string, item, n node) *operation {
	op := &operation{
		key: method + " " + path, method: method, path: path,
		id: n.text("operationId"), summary: n.text("summary"), description: n.text("description"),
		deprecated: n.is("deprecated"), security: n.get("security"), answers: n.get("responses"),
		servers: n.list("servers"),
	}
	if !n.has("security") {
		op.security = d.root.get("security")
	}
	if len(op.servers) == 0 {
		op.servers = item.list("servers")
	}
	for _, tag := range n.list("tags") {
		if s, ok := tag.value.(string); ok {
			op.tags = append(op.tags, s)
		}
	}
	r.leftOutMembers(n, op.key, "callbacks")
	d.addParameters(r, op, item.list("parameters"), n.list("parameters"))
	if d.swagger() {
		op.produces = texts(cmp.Or(nonEmpty(n.list("produces")), nonEmpty(d.root.list("produces"))))
		d.addForm(op, texts(cmp.Or(nonEmpty(n.list("consumes")), nonEmpty(d.root.list("consumes")))))
		return op
	}
	body, err := d.follow(n.get("requestBody"))
	if err != nil {
		r.note(LeftOut, "the body can't be read", op.key, "body", err.Error())
		return op
	}
	op.bodyRequired, op.bodyText = body.is("required"), body.text("description")
	for media, c := range body.get("content").members() {
		op.bodies = append(op.bodies, content{media, c.get("schema"), c.get("encoding"), d.hasFiles(c.get("schema"))})
	}
	return op
}

// nonEmpty makes a list comparable for cmp.Or.
func nonEmpty(nodes []node) *[]node {
	if len(nodes) == 0 {
		return nil
	}
	return &nodes
}

func texts(nodes *[]node) (list []string) {
	if nodes == nil {
		return nil
	}
	for _, n := range *nodes {
		if s, ok := n.value.(string); ok {
			list = append(list, s)
		}
	}
	return list
}

// addParameters reads those of the path and those of the operation, which replace them.
func (d *document) addParameters(r *Report, op *operation, shared, own []node) {
	for _, n := range slices.Concat(shared, own) {
		target, err := d.follow(n)
		if err != nil {
			r.note(LeftOut, "an argument can't be read", op.key, "", err.Error())
			continue
		}
		p := parameter{
			name: target.text("name"), in: target.text("in"), description: target.text("description"),
			required: target.is("required"), schema: target.get("schema"), example: target.get("example").value,
		}
		if d.swagger() && p.in != "body" {
			p.schema = target
		}
		if p.name == "" && p.in != "body" {
			r.note(LeftOut, "an argument has no name", op.key, "", "")
			continue
		}
		for media, c := range target.get("content").members() {
			p.schema, p.style = c.get("schema"), "json"
			if !isJSON(media) {
				p.style = ""
			}
			break
		}
		p.style = cmp.Or(p.style, styleOf(target, p.in))
		same := func(q parameter) bool { return q.name == p.name && q.in == p.in }
		if i := slices.IndexFunc(op.parameters, same); i >= 0 {
			op.parameters[i] = p
			continue
		}
		op.parameters = append(op.parameters, p)
	}
}

// styleOf is how a list or an object is written in a parameter.
func styleOf(p node, in string) string {
	explode := p.get("explode").value
	style := p.text("style")
	switch p.text("collectionFormat") {
	case "multi":
		return "form"
	case "ssv":
		return "space"
	case "pipes":
		return "pipe"
	case "csv", "tsv":
		return "comma"
	}
	switch {
	case style == "deepObject":
		return "deep"
	case style == "spaceDelimited" && explode != true:
		return "space"
	case style == "pipeDelimited" && explode != true:
		return "pipe"
	case in == "path", in == "header", explode == false, p.has("type"): // Swagger's default is csv
		return "comma"
	}
	return "form"
}

// addForm makes of Swagger's body and form parameters what OpenAPI 3 has as requestBody.
func (d *document) addForm(op *operation, consumes []string) {
	properties, required := map[string]any{}, []any{}
	multipart := len(consumes) > 0 && !slices.Contains(consumes, "application/x-www-form-urlencoded")
	var form *file
	op.parameters = slices.DeleteFunc(op.parameters, func(p parameter) bool {
		switch p.in {
		case "body":
			op.bodyRequired, op.bodyText = p.required, p.description
			if !slices.ContainsFunc(consumes, isJSON) && len(consumes) > 0 {
				for _, media := range consumes {
					op.bodies = append(op.bodies, content{media: media, schema: p.schema})
				}
				return true
			}
			op.bodies = append(op.bodies, content{media: "application/json", schema: p.schema})
			return true
		case "formData":
			form = p.schema.file
			properties[p.name] = p.schema.value
			if p.required {
				required = append(required, p.name)
			}
			multipart = multipart || p.schema.text("type") == "file"
			return true
		}
		return false
	})
	if form == nil {
		return
	}
	media := "application/x-www-form-urlencoded"
	if multipart {
		media = "multipart/form-data"
	}
	op.bodyRequired = op.bodyRequired || len(required) > 0
	whole := node{form, map[string]any{"type": "object", "properties": properties, "required": required}}
	op.bodies = append(op.bodies, content{media: media, schema: whole, files: d.hasFiles(whole)})
}

// hasFiles says that a form has fields that are files, or that nobody knows its fields.
func (d *document) hasFiles(form node) bool {
	form, err := d.follow(form)
	fields := form.get("properties")
	if err != nil || len(fields.object()) == 0 || form.has("allOf") {
		return true
	}
	for _, field := range fields.members() {
		field, err := d.follow(field)
		items, itemsErr := d.follow(field.get("items"))
		if err != nil || itemsErr != nil {
			return true
		}
		for _, n := range []node{field, items} {
			if n.text("type") == "file" || n.text("format") == "binary" || n.has("contentMediaType") || n.has("contentEncoding") {
				return true
			}
		}
	}
	return false
}

// isJSON: application/json, and all that is JSON by its suffix.
func isJSON(media string) bool {
	media, _, _ = strings.Cut(strings.ToLower(media), ";")
	media = strings.TrimSpace(media)
	return media == "application/json" || strings.HasSuffix(media, "+json") || media == "text/json"
}

// body is the form in which the backend is sent its body, and why none of them can be.
func (op *operation) body() (c content, kind, why string) {
	var refused []string
	best := 0
	for _, b := range op.bodies {
		media, _, _ := strings.Cut(strings.ToLower(b.media), ";")
		rank, k := 0, ""
		switch media = strings.TrimSpace(media); {
		case media == "application/json":
			rank, k = 5, "json"
		case isJSON(media), media == "*/*", media == "application/*":
			rank, k = 4, "json"
		case media == "application/x-www-form-urlencoded":
			rank, k = 3, "form"
		case strings.HasPrefix(media, "text/") && !strings.Contains(media, "xml"):
			rank, k = 2, "text"
		case media == "multipart/form-data" && !b.files:
			rank, k = 1, "form"
		default:
			refused = append(refused, media)
		}
		if rank > best {
			best, kind, c = rank, k, b
		}
	}
	if best == 0 && len(refused) > 0 {
		return content{}, "", "the body is " + clean(strings.Join(refused, " or "), 80)
	}
	return c, kind, ""
}

// answer is the first success that is described, and the form of it that is best to read.
func (d *document) answer(op *operation) (description string, c content, err error) {
	var codes []string
	for code := range op.answers.members() {
		if strings.HasPrefix(code, "2") {
			codes = append(codes, code)
		}
	}
	if op.answers.has("default") {
		codes = append(codes, "default")
	}
	if len(codes) == 0 {
		return "", content{}, nil
	}
	n, err := d.follow(op.answers.get(codes[0]))
	if err != nil {
		return "", content{}, err
	}
	if d.swagger() {
		media := "application/json"
		if len(op.produces) > 0 && !slices.ContainsFunc(op.produces, isJSON) {
			media = op.produces[0]
		}
		if !n.has("schema") {
			return n.text("description"), content{}, nil
		}
		return n.text("description"), content{media: media, schema: n.get("schema")}, nil
	}
	for media, form := range n.get("content").members() {
		if c.media == "" || isJSON(media) && (!isJSON(c.media) || media == "application/json") {
			c = content{media: media, schema: form.get("schema")}
		}
	}
	if c.media == "*/*" {
		c.media = "application/json"
	}
	return n.text("description"), c, nil
}
