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
	parts []string   // segments of our route: {name} or literal
}

// placeOf makes of a path one that API Gateway takes: there a parameter is a whole segment.
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

// routes gives each operation its route: unique, clear of the base's own, and with one name
// for each parameter, since API Gateway takes no two names in the same place.
func (im *importer) routes(ops []*tool) {
	byLength := slices.SortedFunc(slices.Values(ops), func(a, b *tool) int {
		return cmp.Or(cmp.Compare(len(a.place.parts), len(b.place.parts)), cmp.Compare(a.op.key, b.op.key))
	})
	for _, t := range byLength {
		prefix := im.opts.Prefix
		if im.clashes(prefix + "/" + strings.Join(t.place.parts, "/")) {
			prefix += "/" + im.backend
			im.report.note(Renamed, "the route is one of the service's own", t.op.key, "", prefix+t.op.path)
		}
		for segment := range strings.SplitSeq(strings.TrimPrefix(prefix, "/"), "/") {
			if segment != "" {
				t.segments = append(t.segments, segment)
			}
		}
		t.segments = append(t.segments, t.place.parts...)
		im.nameParameters(t)
	}
	im.separateRoutes(ops)
}

// clashes: a route of the service's own, or below one of its directories.
func (im *importer) clashes(route string) bool {
	for _, own := range im.opts.Reserved.Routes {
		if route == own || strings.HasSuffix(own, "/") && strings.HasPrefix(route+"/", own) {
			return true
		}
	}
	return false
}

// nameParameters takes the name that a shorter path has given to a place already.
func (im *importer) nameParameters(t *tool) {
	t.arguments = map[string]string{}
	above, used := "", map[string]bool{}
	for i, segment := range t.segments {
		if !strings.HasPrefix(segment, "{") {
			above += "/" + segment
			continue
		}
		wire := strings.Trim(segment, "{}")
		chosen := im.parameters[above]
		if chosen == "" {
			chosen = argumentNameFor(wire, func(name string) bool { return used[name] })
			im.parameters[above] = chosen
		}
		used[chosen] = true
		if chosen != wire {
			im.report.note(Renamed, "the argument's name in the path is that of its siblings, or one that hosts take", t.op.key, wire, chosen)
		}
		t.arguments[wire] = chosen
		t.segments[i] = "{" + chosen + "}"
		above += "/{}"
	}
	t.route = "/" + strings.Join(t.segments, "/")
}

// separateRoutes marks those that came to be the same. Which of them keeps the plain route
// depends on nothing but its own path.
func (im *importer) separateRoutes(ops []*tool) {
	form := func(t *tool) string { return t.op.method + " " + placeholder.ReplaceAllString(t.route, "{}") }
	count, plain := map[string]int{}, map[string]int{}
	isPlain := func(t *tool) bool {
		return len(t.place.query) == 0 && "/"+strings.Join(t.place.parts, "/") == t.op.path
	}
	for _, t := range ops {
		count[form(t)]++
		if isPlain(t) {
			plain[form(t)]++
		}
	}
	for _, t := range ops {
		f := form(t)
		if count[f] > 1 && !(isPlain(t) && plain[f] == 1) {
			t.route = strings.TrimSuffix(t.route, "/") + "/" + mark(t.op.key)
		}
	}
	for _, t := range ops {
		if im.opts.Prefix+t.op.path != placeholder.ReplaceAllStringFunc(t.route, func(s string) string { return "{" + t.wireName(s) + "}" }) {
			im.report.note(Renamed, "the path is not one for API Gateway, or taken", t.op.key, "", t.route)
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
