package contract

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// greedy is the last segment of a path that operations share.
const greedy = "{proxy+}"

// layOut gives each operation the resource of API Gateway that carries it, and returns the
// document. API Gateway has rules for paths that OpenAPI doesn't: what a segment is made of, one
// name for the parameters at one place, and a quota of resources. What doesn't fit goes under a
// greedy path, with all that its backend has there: beside an exact resource, a greedy one never
// gets its turn.
func layOut(doc map[string]any) ([]byte, error) {
	l := &layout{shared: map[string]string{}}
	if err := eachOperation(doc, l.add); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	// What can't move comes first, so that its parameters keep their names.
	slices.SortStableFunc(l.operations, func(a, b *laid) int { return cmp.Compare(min(1, len(a.backend)), min(1, len(b.backend))) })
	if err := l.shareUnfit(); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	most, err := jsonNumber(object(doc["x-sekisho-limits"])["resources"]).Int64()
	if err != nil {
		return nil, fmt.Errorf("contract: x-sekisho-limits.resources: %w", err)
	}
	if err := l.fit(int(most)); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	if err := l.write(); err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	encoded, err := encode(doc)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	return encoded, check(encoded)
}

// layout is of all operations.
type layout struct {
	operations []*laid
	// shared are the prefixes with a greedy path, and the backend whose path it is.
	shared map[string]string
}

// laid is one operation.
type laid struct {
	where    string
	path     string
	segments []string
	// shape is the path with every parameter as {}.
	shape   []string
	backend string
	op      map[string]any
}

func (l *layout) add(method, path string, op map[string]any) error {
	o := &laid{where: method + " " + path, path: path, segments: segments(path), op: op}
	o.backend, _ = object(op["x-sekisho"])["backend"].(string)
	for i, segment := range o.segments {
		if strings.HasSuffix(segment, "+}") && i < len(o.segments)-1 {
			return fmt.Errorf("%s: a greedy parameter, %s, can only be the last segment", o.where, segment)
		}
		if strings.HasSuffix(segment, "+}") {
			o.shape = append(o.shape, "{+}")
			continue
		}
		o.shape = append(o.shape, placeholder().ReplaceAllString(segment, "{}"))
	}
	l.operations = append(l.operations, o)
	return nil
}

// unfit is the index of the first segment that API Gateway can't hold, -1 if there is none.
func (o *laid) unfit() int {
	return slices.IndexFunc(o.segments, func(segment string) bool {
		name, isParam := strings.CutPrefix(segment, "{")
		return !isPlain(segment) && !(isParam && isPlain(strings.TrimSuffix(strings.TrimSuffix(name, "}"), "+")))
	})
}

func (l *layout) shareUnfit() error {
	for _, o := range l.operations {
		at := o.unfit()
		if at < 0 {
			continue
		}
		if o.backend == "" {
			return fmt.Errorf("%s: API Gateway can't hold the segment %q: write letters, digits, - _ . : or one parameter in braces", o.where, o.segments[at])
		}
		prefix := key(o.shape[:at])
		if other, taken := l.shared[prefix]; taken && other != o.backend {
			return fmt.Errorf("%s: API Gateway can't hold this path, and the backend %s has the paths below /%s already: give the operations of %s a prefix of their own", o.where, other, prefix, o.backend)
		}
		l.shared[prefix] = o.backend
	}
	return nil
}

// key of a place in the tree of paths.
func key(shape []string) string { return strings.Join(shape, "/") }

// resource of an operation, by its shape: its own, or the greedy path above it.
func (l *layout) resource(o *laid) []string {
	for i := range o.shape {
		if o.backend != "" && l.shared[key(o.shape[:i])] == o.backend {
			return append(slices.Clone(o.shape[:i]), greedy)
		}
	}
	return o.shape
}

// place is a node in the tree of resources.
type place struct {
	key      string
	children map[string]*place
	// own is the backend that has this place and all below it, "" where others do too.
	own   string
	inner int // places below
}

// tree of the resources as they are shared now.
func (l *layout) tree() *place {
	root := &place{}
	for _, o := range l.operations {
		at := root
		for i, segment := range l.resource(o) {
			if at.children == nil {
				at.children = map[string]*place{}
			}
			next := at.children[segment]
			if next == nil {
				next = &place{key: key(o.shape[:min(i+1, len(o.shape))]), own: o.backend}
				at.children[segment] = next
			}
			if next.own != o.backend {
				next.own = ""
			}
			at = next
		}
	}
	root.count()
	return root
}

func (p *place) count() int {
	for _, c := range p.children {
		p.inner += 1 + c.count()
	}
	return p.inner
}

// backend whose paths below the place a greedy one could stand for, and how many resources that
// would save. Others keep theirs.
func (p *place) saving() (backend string, saved int) {
	of := map[string]int{}
	for _, c := range p.children {
		c.tally(of)
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] > saved {
			backend, saved = name, of[name]
		}
	}
	return backend, saved - 1
}

func (p *place) tally(of map[string]int) {
	if p.own != "" {
		of[p.own] += 1 + p.inner
		return
	}
	for _, c := range p.children {
		c.tally(of)
	}
}

// fit shares greedy paths until no more resources are left than API Gateway takes.
func (l *layout) fit(most int) error {
	root := l.tree()
	if wanted := 1 + root.inner; wanted > most {
		l.share(root, wanted-most)
		if left := 1 + l.tree().inner; left > most {
			return fmt.Errorf("the paths make %d resources of API Gateway's, %d with greedy paths, and it takes %d: leave operations out, or have the quota raised and write it into your contract, x-sekisho-limits: { resources: N }", wanted, left, most)
		}
	}
	return nil
}

// share saves at least excess resources below a place, if it can, and says how many. The largest
// branches go first; of one that would save more than is needed only a part is taken.
func (l *layout) share(p *place, excess int) (saved int) {
	children := slices.Collect(maps.Values(p.children))
	slices.SortFunc(children, func(a, b *place) int {
		_, x := a.saving()
		_, y := b.saving()
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a.key, b.key))
	})
	shared := maps.Clone(l.shared)
	for _, c := range children {
		if saved >= excess {
			return saved
		}
		backend, all := c.saving()
		switch {
		case all <= 0:
		case all > excess-saved:
			saved += l.share(c, excess-saved)
		case l.take(c, backend):
			saved += all
		}
	}
	backend, all := p.saving()
	if saved >= excess || all <= saved {
		return saved
	}
	below := l.shared
	l.shared = shared
	if !l.take(p, backend) {
		l.shared = below
		return saved
	}
	return all
}

// take gives a backend the greedy path at a place, unless another has it.
func (l *layout) take(p *place, backend string) bool {
	if other, taken := l.shared[p.key]; taken && other != backend {
		return false
	}
	l.shared[p.key] = backend
	return true
}

// write tells each operation its resource, where that is another than its path.
func (l *layout) write() error {
	names := map[string]string{} // of the parameter at each place
	for _, o := range l.operations {
		resource := slices.Clone(l.resource(o))
		for i, segment := range resource {
			at := key(o.shape[:i]) + "/" + segment
			switch {
			case segment == greedy:
				at = key(o.shape[:i]) + "/{+}"
				names[at] = cmp.Or(names[at], greedy)
			case segment == "{+}":
				names[at] = cmp.Or(names[at], o.segments[i])
			case segment == "{}":
				names[at] = cmp.Or(names[at], unique(o.segments[i], resource[:i]))
			default:
				continue
			}
			if segment == greedy && names[at] != greedy || segment == "{+}" && names[at] != o.segments[i] {
				return fmt.Errorf("%s: API Gateway would need two greedy parameters below /%s, and takes one: give the operations of the backend %s a prefix of their own", o.where, key(o.shape[:i]), o.backend)
			}
			resource[i] = names[at]
		}
		if path := "/" + strings.Join(resource, "/"); path != o.path {
			child(o.op, "x-sekisho")["resource"] = path
		}
	}
	return nil
}

// unique changes a parameter in braces until none of those above it has its name.
func unique(param string, above []string) string {
	name := strings.Trim(param, "{}")
	for slices.Contains(above, "{"+name+"}") {
		name += "_"
	}
	return "{" + name + "}"
}
