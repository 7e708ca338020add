package openapi

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	placeholder = regexp.MustCompile(`\{([^{}/]*)\}`)
	notInRoutes = regexp.MustCompile(`[^a-zA-Z0-9._:-]+`)
)

// place is where the backend has an operation, taken apart.
type place struct {
	path  string     // with the backend's names in braces; no query, no fragment
	query url.Values // fixed values that the description writes into the path
	names []string   // of the parameters, in order
	parts []string   // segments of a route where the path can't be one: {name} or literal
}

func placeOf(path string) place {
	p := place{query: url.Values{}}
	rest, fragment, _ := strings.Cut(path, "#")
	rest, query, _ := strings.Cut(rest, "?")
	p.path = cmp.Or(rest, "/")
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name != "" && !strings.ContainsAny(pair, "{}") {
			p.query.Add(name, value)
		}
	}
	for segment := range strings.SplitSeq(rest, "/") {
		p.add(segment)
	}
	for _, extra := range []string{query, fragment} {
		if extra != "" {
			p.add(placeholder.ReplaceAllString(extra, ""))
		}
	}
	return p
}

func (p *place) add(segment string) {
	literal := func(text string) {
		if text = strings.Trim(notInRoutes.ReplaceAllString(text, "_"), "_."); text != "" {
			p.parts = append(p.parts, text)
		}
	}
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(segment, -1) {
		literal(segment[at:m[0]])
		at = m[1]
		name := segment[m[2]:m[3]]
		if name == "" || slices.Contains(p.names, name) {
			literal("same")
			continue
		}
		p.names = append(p.names, name)
		p.parts = append(p.parts, "{"+name+"}")
	}
	literal(segment[at:])
}

// usual is a path that the contract takes as it is: API Gateway's own rules are its business.
var usual = regexp.MustCompile(`^(/([a-zA-Z0-9._~:$@!*'(),;=+-]|\{[a-zA-Z0-9_.$@-]+\}([^{]|$))+)+/?$`)

// routes gives each operation its route: unique, and clear of the service's own.
func (im *importer) routes(ops []*tool) {
	for _, t := range ops {
		t.nameParameters()
		parts := "/" + strings.Join(t.place.parts, "/")
		if usual.MatchString(t.op.path) && len(placeholder.FindAllString(t.op.path, -1)) == len(t.place.names) {
			parts = strings.TrimSuffix(t.op.path, "/")
		}
		t.route = im.opts.Prefix + placeholder.ReplaceAllStringFunc(parts, func(s string) string {
			return "{" + t.arguments[strings.Trim(s, "{}")] + "}"
		})
		if im.clashes(t.route) {
			t.route = "/" + im.backend + t.route
		}
	}
	im.separateRoutes(ops)
}

// clashes: a route of the service's own, or below one of its directories.
func (im *importer) clashes(route string) bool {
	for _, own := range im.opts.Reserved.Routes {
		if route == own || len(own) > 1 && strings.HasSuffix(own, "/") && strings.HasPrefix(route+"/", own) {
			return true
		}
	}
	return false
}

// nameParameters gives the parameters of the path names that every host takes.
func (t *tool) nameParameters() {
	t.arguments = map[string]string{}
	used := map[string]bool{}
	for _, wire := range t.place.names {
		name := argumentNameFor(wire, func(name string) bool { return used[name] })
		used[name] = true
		t.arguments[wire] = name
	}
}

// separateRoutes marks those that came to be the same. Which of them keeps the plain route
// depends on nothing but its own path.
func (im *importer) separateRoutes(ops []*tool) {
	form := func(t *tool) string {
		return t.op.method + " " + placeholder.ReplaceAllString(strings.TrimSuffix(t.route, "/"), "{}")
	}
	wire := func(t *tool) string {
		return placeholder.ReplaceAllStringFunc(t.route, func(s string) string { return "{" + t.wireName(s) + "}" })
	}
	isPlain := func(t *tool) bool { return wire(t) == im.opts.Prefix+t.op.path }
	count, plain := map[string]int{}, map[string]int{}
	for _, t := range ops {
		count[form(t)]++
		if isPlain(t) {
			plain[form(t)]++
		}
	}
	for _, t := range ops {
		if f := form(t); count[f] > 1 && !(isPlain(t) && plain[f] == 1) {
			t.route = strings.TrimSuffix(t.route, "/") + "/" + mark(t.op.key)
		}
		if !isPlain(t) && wire(t)+"/" != im.opts.Prefix+t.op.path {
			im.report.note(Renamed, "the path is taken, or one that can't be a route", t.op.key, "", t.route)
		}
	}
}

// wireName is the backend's name for a parameter of the route.
func (t *tool) wireName(segment string) string {
	for wire, ours := range t.arguments {
		if "{"+ours+"}" == segment {
			return wire
		}
	}
	return segment
}
