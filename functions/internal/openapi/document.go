package openapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// document is a description, and the documents beside it that it refers to.
type document struct {
	label   string // what a report calls it
	sum     string // SHA-256 of the description
	version string
	root    node

	ctx    context.Context
	from   source
	files  map[string]*file
	size   int64
	byPath map[string]reached
}

// file is one document. An error is remembered, so that it is read once.
type file struct {
	name  string
	value any
	err   error
}

// reached is where a reference leads.
type reached struct {
	node node
	err  error
}

// node is a value, and the file that it stands in: references are relative to that.
type node struct {
	file  *file
	value any
}

func (n node) object() map[string]any {
	m, _ := n.value.(map[string]any)
	return m
}

func (n node) get(name string) node { return node{n.file, n.object()[name]} }
func (n node) has(name string) bool { return n.object()[name] != nil }
func (n node) is(name string) bool  { return n.object()[name] == true }

func (n node) text(name string) string {
	s, _ := n.object()[name].(string)
	return s
}

func (n node) list(name string) []node {
	values, _ := n.object()[name].([]any)
	nodes := make([]node, len(values))
	for i, v := range values {
		nodes[i] = node{n.file, v}
	}
	return nodes
}

// members are an object's, by name, so that the order of what is made of them never changes.
func (n node) members() iter.Seq2[string, node] {
	return func(yield func(string, node) bool) {
		m := n.object()
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, node{n.file, m[name]}) {
				return
			}
		}
	}
}

// open reads a description. The documents that it refers to are read when they are needed.
func open(ctx context.Context, location string, private bool) (*document, error) {
	from, name, label, err := openSource(location, private)
	if err != nil {
		return nil, err
	}
	d := &document{label: label, ctx: ctx, from: from, files: map[string]*file{}, byPath: map[string]reached{}}
	text, err := d.read(name)
	if err == nil {
		sum := sha256.Sum256(text)
		d.sum = hex.EncodeToString(sum[:])
		f := &file{name: name}
		d.files[name] = f
		f.value, err = parse(text)
		d.root = node{f, f.value}
	}
	if err == nil {
		err = d.identify()
	}
	if err != nil {
		from.close()
		return nil, fmt.Errorf("%s: %w", label, err)
	}
	return d, nil
}

func (d *document) close() { d.from.close() }

func (d *document) read(name string) ([]byte, error) {
	if len(d.files) >= maxDocuments {
		return nil, fmt.Errorf("more than %d documents are referred to", maxDocuments)
	}
	text, err := d.from.read(d.ctx, name, MaxBytes-d.size)
	if err != nil {
		return nil, err
	}
	if d.size += int64(len(text)); d.size > MaxBytes {
		return nil, fmt.Errorf("larger than %d MB, with what it refers to", MaxBytes>>20)
	}
	return text, nil
}

// identify says which version of which format it is.
func (d *document) identify() error {
	if d.root.object() == nil {
		return errors.New("not an OpenAPI description: it is not an object")
	}
	for _, other := range []struct{ member, name string }{
		{"asyncapi", "AsyncAPI"}, {"swaggerVersion", "Swagger 1"}, {"discoveryVersion", "a Google discovery document"},
		{"$schema", "a JSON Schema"}, {"item", "a Postman collection"}, {"openrpc", "OpenRPC"},
	} {
		if d.root.has(other.member) && !d.root.has("paths") {
			return fmt.Errorf("this is %s, not an OpenAPI description: export it as OpenAPI 3 or Swagger 2.0", other.name)
		}
	}
	for _, member := range []string{"openapi", "swagger"} {
		switch v := d.root.get(member).value.(type) {
		case string:
			d.version = v
		case float64:
			d.version = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	switch {
	case d.version == "":
		return errors.New("not an OpenAPI description: it has neither openapi nor swagger with a version")
	case d.swagger() && d.version != "2" && !strings.HasPrefix(d.version, "2."),
		!d.swagger() && d.version != "3" && !strings.HasPrefix(d.version, "3."):
		return fmt.Errorf("version %s is not read: OpenAPI 3.0 and 3.1 and Swagger 2.0 are", clean(d.version, 20))
	}
	return nil
}

// swagger says that it is Swagger 2.0, where bodies, parameters and answers are written in
// another way than in OpenAPI 3.
func (d *document) swagger() bool { return !d.root.has("openapi") }

// referenceError is a reference that leads nowhere, or that isn't followed.
type referenceError struct{ ref, why string }

func (e *referenceError) Error() string {
	return fmt.Sprintf("the reference %s %s", clean(e.ref, 200), e.why)
}

// maxHops bounds references to references.
const maxHops = 32

// follow returns what a reference leads to, or n itself if it is none.
func (d *document) follow(n node) (node, error) {
	for range maxHops {
		ref, ok := n.object()["$ref"].(string)
		if !ok {
			return n, nil
		}
		key := n.file.name + "\x00" + ref
		at, known := d.byPath[key]
		if !known {
			at.node, at.err = d.lookUp(n.file, ref)
			d.byPath[key] = at
		}
		if at.err != nil {
			return node{}, at.err
		}
		n = at.node
	}
	return node{}, &referenceError{n.text("$ref"), "goes round in a circle"}
}

func (d *document) lookUp(from *file, ref string) (node, error) {
	target, fragment, _ := strings.Cut(ref, "#")
	f := from
	if target != "" {
		name, why := d.beside(from, target)
		if why != "" {
			return node{}, &referenceError{ref, why}
		}
		if f = d.files[name]; f == nil {
			f = &file{name: name}
			text, err := d.read(name)
			if err == nil {
				f.value, err = parse(text)
			}
			f.err = err
			d.files[name] = f
		}
		if f.err != nil {
			return node{}, &referenceError{ref, "can't be followed: " + f.err.Error()}
		}
	}
	at := f.value
	if fragment == "" {
		return node{f, at}, nil
	}
	pointer, ok := strings.CutPrefix(fragment, "/")
	if !ok {
		return node{}, &referenceError{ref, "names an anchor, and only paths (#/a/b) are followed"}
	}
	for step := range strings.SplitSeq(pointer, "/") {
		if text, err := url.PathUnescape(step); err == nil {
			step = text
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return node{}, &referenceError{ref, "leads to nothing"}
			}
			at = v[i]
		default:
			at = nil
		}
	}
	if at == nil {
		return node{}, &referenceError{ref, "leads to nothing"}
	}
	return node{f, at}, nil
}

// beside is the name of a document that another refers to, or why it isn't followed: a
// description must not make its reader open files or call hosts of the description's choice.
func (d *document) beside(from *file, target string) (name, why string) {
	const refused = "is not followed: only references within the description, to files beside it or below its directory are"
	u, err := url.Parse(target)
	if err != nil || u.Opaque != "" || u.User != nil || u.RawQuery != "" {
		return "", refused
	}
	if u.Scheme != "" || u.Host != "" {
		s, ok := d.from.(site)
		if !ok || u.Scheme != s.base.Scheme || u.Host != s.base.Host {
			return "", refused
		}
		below, ok := strings.CutPrefix(u.Path, path.Dir(s.base.Path+"x")+"/")
		if path.Dir(s.base.Path+"x") == "/" {
			below, ok = strings.CutPrefix(u.Path, "/")
		}
		if !ok {
			return "", refused
		}
		name = path.Clean(below)
	} else if path.IsAbs(u.Path) {
		return "", refused
	} else {
		name = path.Join(path.Dir(from.name), u.Path)
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, `\`) {
		return "", refused
	}
	return name, ""
}
