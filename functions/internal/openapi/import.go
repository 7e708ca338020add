// Package openapi makes a contract of tools out of somebody else's description of an API:
// OpenAPI 3.0 and 3.1, and Swagger 2.0.
//
// A description is untrusted. It is read as a tree of JSON values, which its references are
// followed in as they are needed and within budgets, never as types: a description that is
// broken in one place still gives the other operations, and one that describes itself without
// end costs no more than any other.
package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sekisho/functions/internal/contract"
)

// Reserved are the names that the service's own operations have.
type Reserved struct {
	// Routes as they are, and directories with a slash at the end.
	Routes     []string
	Categories []string
	Functions  []string
}

// Options of an import.
type Options struct {
	// Location is a file or an http or https URL.
	Location string
	// Private lets the URL's host have a private address.
	Private bool
	// Backend names it; by default its title does.
	Backend string
	// Prefix goes before every route, such as /github.
	Prefix string
	// Include and Exclude choose operations: tag:NAME, path:GLOB or name:GLOB.
	Include, Exclude []string
	// ReadOnly leaves out what is no GET.
	ReadOnly bool
	// Deprecated makes tools of deprecated operations too.
	Deprecated bool
	Reserved   Reserved
	// Served leaves out the warning that there is no server: whoever serves the contract at once
	// checks that every backend has an address.
	Served bool
	// Previous is what an earlier import wrote and a person may have edited; nil if none.
	Previous []byte
	// Force takes a Previous that is no import, and writes over it.
	Force bool
}

// ErrNotImported is a previous file that this package has not written.
var ErrNotImported = errors.New("the file is not one that an import wrote")

// Import reads a description and returns the contract as YAML.
func Import(ctx context.Context, opts Options) ([]byte, *Report, error) {
	before, err := readPrevious(opts.Previous)
	if errors.Is(err, ErrNotImported) && opts.Force {
		before, err = nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	opts = before.options(opts)
	filters, err := newFilters(opts)
	if err != nil {
		return nil, nil, err
	}
	d, err := open(ctx, opts.Location, opts.Private)
	if err != nil {
		return nil, nil, err
	}
	defer d.close()
	if d.root.has("x-sekisho-import") || d.root.has("x-sekisho-backends") {
		return nil, nil, fmt.Errorf("%s: this is a contract of tools, not a description of an API: give it as --contract", d.label)
	}
	im := &importer{
		ctx: ctx, doc: d, opts: opts, filters: filters, before: before, budget: totalSteps,
		report: &Report{
			Source: d.label, SHA256: d.sum, Title: clean(d.root.get("info").text("title"), 100),
			Version: map[bool]string{true: "Swagger ", false: "OpenAPI "}[d.swagger()] + clean(d.version, 20),
			Auth:    []Auth{}, Backends: map[string]string{}, Again: before != nil,
		},
	}
	text, err := im.run()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", d.label, err)
	}
	im.report.sort()
	return text, im.report, nil
}

// importer is one import.
type importer struct {
	ctx     context.Context
	doc     *document
	opts    Options
	filters filters
	report  *Report
	before  *previous

	backend     string
	backends    map[string]string // URL by name
	credentials credentials
	budget      int
}

// tool is an operation on its way into the contract.
type tool struct {
	op        *operation
	category  string
	name      string
	backend   string
	place     place
	route     string
	code      string            // of its counter, where the one made of its name is taken
	arguments map[string]string // of the path, by the backend's name
}

func (t *tool) id() string { return t.category + "." + t.name }

func (im *importer) run() ([]byte, error) {
	ops, err := im.doc.operations(im.report)
	if err != nil {
		return nil, err
	}
	im.report.Operations = len(ops)
	if len(ops) == 0 && im.doc.root.has("webhooks") {
		return nil, errors.New("the description has only webhooks: they are calls that the backend makes, and there is none to make to it")
	}
	if len(ops) == 0 {
		return nil, errors.New("the description has no operation that could be a tool: #/paths has none with a method of GET, PUT, POST, DELETE or PATCH")
	}
	im.backend = im.chooseBackend()
	im.credentials = im.doc.auth(im.report, im.backend)
	tools := im.choose(ops)
	if len(tools) == 0 && im.filters.any() {
		return nil, fmt.Errorf("none of its %d operations is left: see --include, --exclude and --read-only", len(ops))
	}
	if len(tools) == 0 {
		_, _, why := ops[0].body()
		return nil, fmt.Errorf("none of its %d operations can be a tool: only JSON, forms and text are sent, and of %s %s", len(ops), ops[0].key, why)
	}
	im.place(tools)
	im.routes(tools)
	im.names(tools)
	im.codes(tools)
	return im.write(tools)
}

// choose applies the filters, and leaves out what no tool can send.
func (im *importer) choose(ops []*operation) []*tool {
	reserved := setOf(im.opts.Reserved.Categories)
	var tools []*tool
	for _, op := range ops {
		t := &tool{op: op, category: categoryOf(op, reserved), place: placeOf(op.path)}
		t.name, _ = nameOf(op, t.category)
		if !im.filters.take(op, t.id()) {
			im.report.note(LeftOut, "not chosen", op.key, "", "")
			continue
		}
		if _, _, why := op.body(); why != "" {
			im.report.note(LeftOut, "only JSON, forms and text are sent", op.key, "body", why)
			continue
		}
		tools = append(tools, t)
	}
	return tools
}

// names makes them unique in every form that hosts list them in, and keeps those that an
// earlier import gave.
func (im *importer) names(tools []*tool) {
	listed := func(t *tool) string { return contract.FoldedName(t.id()) }
	count, taken := map[string]int{}, im.before.names()
	for _, t := range tools {
		if category, name, ok := im.before.nameOf(t.op.key); ok {
			t.category, t.name = category, name
		} else if im.before.find(t.op.key) == nil {
			count[listed(t)]++
		}
	}
	for _, t := range tools {
		if im.before.find(t.op.key) != nil { // it has its name, or one that a person gave it
			continue
		}
		was := listed(t)
		if count[was] > 1 || taken[was] {
			t.name = withMark(t.name, t.category, t.op.key)
			im.report.note(Renamed, "another operation has the same name", t.op.key, "", t.id())
		} else if _, cut := nameOf(t.op, t.category); cut {
			im.report.note(Renamed, fmt.Sprintf("the name has more than %d characters", mostName), t.op.key, "", t.id())
		}
	}
}

// mostCodes is up to how many tools codes are kept apart: more than contract.MaxCoded, because
// a person may take some out before there are counters.
const mostCodes = 5 * contract.MaxCoded

// codes gives a counter's code to those tools whose own is another's already.
func (im *importer) codes(tools []*tool) {
	if len(tools) > mostCodes {
		return
	}
	taken := im.before.codes()
	for _, t := range tools {
		if k := im.before.find(t.op.key); k != nil {
			t.code = memberText(member(k.node, "x-sekisho"), "code")
			continue
		}
		code := contract.CodeOf(t.id())
		for i := 1; taken[code]; i++ {
			code = contract.CodeOf(fmt.Sprint(t.id(), i))
			t.code = code
		}
		taken[code] = true
	}
}

// chooseBackend names the description's own server.
func (im *importer) chooseBackend() string {
	if im.opts.Backend != "" {
		return im.opts.Backend
	}
	name := ""
	if u, err := url.Parse(im.doc.server(im.doc.root.list("servers"))); err == nil {
		name = hostName(u.Hostname())
	}
	title := regexp.MustCompile(`(?i)\b(rest|api|swagger|openapi|v\d+|the|server|documentation|specification)\b`).ReplaceAllString(im.report.Title, " ")
	return backendName(cmp.Or(name, snake(title), "api"), setOf(im.opts.Reserved.Functions))
}

// hostName is what tells a host from others: api.github.com is github.
func hostName(host string) string {
	labels := strings.Split(host, ".")
	if len(labels) < 2 || strings.Trim(host, "0123456789.") == "" {
		return ""
	}
	labels = slices.DeleteFunc(labels[:len(labels)-1], func(label string) bool { return label == "api" || label == "www" })
	return strings.Join(labels, "_")
}

// place finds the backend of each operation: those with servers of their own have another. Where all
// have, the first one's is the description's.
func (im *importer) place(tools []*tool) {
	home := im.doc.server(im.doc.root.list("servers"))
	own := func(t *tool) bool { return len(t.op.servers) > 0 && im.doc.server(t.op.servers) != home }
	if len(tools) > 0 && !slices.ContainsFunc(tools, func(t *tool) bool { return !own(t) }) {
		home = im.doc.server(tools[0].op.servers)
	}
	im.backends = map[string]string{im.backend: home}
	byURL := map[string]string{home: im.backend}
	for _, t := range tools {
		t.backend = im.backend
		if len(t.op.servers) == 0 {
			continue
		}
		at := im.doc.server(t.op.servers)
		name, ok := byURL[at]
		if !ok && len(im.backends) < mostBackends {
			u, _ := url.Parse(at)
			name = backendName(hostName(u.Hostname())+" "+u.Path, setOf(im.opts.Reserved.Functions))
			if _, taken := im.backends[name]; taken || name == "api" {
				name = shorten(name, 16) + "_" + mark(at)
			}
			im.backends[name], byURL[at], ok = at, name, true
		}
		if !ok {
			im.report.note(Warning, fmt.Sprintf("more than %d servers: this one is taken for the first", mostBackends), t.op.key, "", at)
			continue
		}
		if t.backend = name; name != im.backend {
			im.report.note(Warning, "it has a server of its own: a backend of its own", t.op.key, name, at)
		}
	}
	if u, err := url.Parse(im.doc.written(im.doc.root.list("servers"))); err == nil {
		im.report.ServerPath = clean(strings.TrimSuffix(u.Path, "/"), 200)
	}
	if home == "" && !im.opts.Served {
		im.report.note(Warning, "the description names no server: give --backend "+im.backend+"=URL", "", "", im.report.ServerPath)
	}
	maps.Copy(im.report.Backends, im.backends)
}

const mostBackends = 8

// written is the first URL of a list as it stands there, with the defaults of its variables; or
// Swagger's host and base path. It may have no host.
func (d *document) written(list []node) (at string) {
	if d.swagger() {
		if host := d.root.text("host"); host != "" {
			scheme := "https"
			if schemes := texts(nonEmpty(d.root.list("schemes"))); len(schemes) > 0 && !slices.Contains(schemes, "https") {
				scheme = schemes[0]
			}
			at = scheme + "://" + host
		}
		at += d.root.text("basePath")
	} else if len(list) > 0 {
		first := list[0]
		for _, other := range list { // the same one, but encrypted
			if strings.TrimPrefix(other.text("url"), "https") == strings.TrimPrefix(first.text("url"), "http") {
				first = other
			}
		}
		at = first.text("url")
		for name, variable := range first.get("variables").members() {
			at = strings.ReplaceAll(at, "{"+name+"}", fmt.Sprint(cmp.Or(variable.object()["default"], any(""))))
		}
	}
	return strings.TrimSpace(at)
}

// server is that URL, absolute; empty if there is none.
func (d *document) server(list []node) string {
	at := d.written(list)
	u, err := url.Parse(at)
	if err != nil || strings.ContainsAny(at, "{}") {
		return ""
	}
	if s, ok := d.from.(site); ok && u.Scheme == "" {
		u = s.base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return clean(strings.TrimSuffix(u.String(), "/"), 300)
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// filters choose operations.
type filters struct {
	include, exclude []func(op *operation, id string) bool
	readOnly         bool
}

func newFilters(o Options) (f filters, err error) {
	f.readOnly = o.ReadOnly
	for _, list := range []struct {
		from []string
		to   *[]func(*operation, string) bool
	}{{o.Include, &f.include}, {o.Exclude, &f.exclude}} {
		for _, text := range list.from {
			match, err := newFilter(text)
			if err != nil {
				return f, err
			}
			*list.to = append(*list.to, match)
		}
	}
	return f, nil
}

func newFilter(text string) (func(*operation, string) bool, error) {
	by, pattern, _ := strings.Cut(text, ":")
	glob := regexp.MustCompile("(?i)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
	switch {
	case pattern == "":
	case by == "tag":
		return func(op *operation, _ string) bool { return slices.ContainsFunc(op.tags, glob.MatchString) }, nil
	case by == "path":
		return func(op *operation, _ string) bool { return glob.MatchString(op.path) }, nil
	case by == "name":
		return func(op *operation, id string) bool {
			return glob.MatchString(id) || glob.MatchString(contract.ListedName(id)) || glob.MatchString(op.id)
		}, nil
	}
	return nil, fmt.Errorf("%q: choose operations by tag:NAME, path:/PATH or name:NAME, each with * for any text", text)
}

func (f filters) any() bool { return f.readOnly || len(f.include)+len(f.exclude) > 0 }

func (f filters) take(op *operation, id string) bool {
	if f.readOnly && op.method != "GET" {
		return false
	}
	matches := func(match func(*operation, string) bool) bool { return match(op, id) }
	return (len(f.include) == 0 || slices.ContainsFunc(f.include, matches)) && !slices.ContainsFunc(f.exclude, matches)
}
