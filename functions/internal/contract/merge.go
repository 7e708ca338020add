package contract

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sekisho/functions/internal/lazy"
)

// MaxToolName is the longest name of a tool. Hosts put a prefix of their own before it, and
// models take 64 characters.
const MaxToolName = 44

// Forms of what a contract of tools names.
var (
	operationID  = lazy.Regexp(`^[a-z0-9_]+\.[a-z0-9_]+$`)
	argumentName = lazy.Regexp(`^[A-Za-z0-9_]{1,64}$`)
	functionForm = lazy.Regexp(`^[a-z][a-z0-9_-]{0,31}$`)
)

// Merge joins the service's own part of a contract and contracts of tools, all as JSON, and lays
// the paths out for API Gateway. What two of them name is an error, and so is what the functions
// could not serve; the error says where it is and what to do.
func Merge(base []byte, tools ...[]byte) ([]byte, error) {
	var merged map[string]any
	if err := decodeExactly(base, &merged); err != nil {
		return nil, fmt.Errorf("contract: the base: %w", err)
	}
	for _, doc := range tools {
		m := merger{merged: merged}
		if err := decodeExactly(doc, &m.added); err != nil {
			return nil, fmt.Errorf("contract: %w", err)
		}
		for _, step := range []func() error{
			m.checkMembers, m.addTags, m.addFunctions, m.addBackends, m.addComponents, m.addLimits, m.addPaths, m.checkNames,
		} {
			if err := step(); err != nil {
				return nil, fmt.Errorf("contract: %w", err)
			}
		}
	}
	sum := sha256.Sum256(base)
	merged["x-sekisho-base"] = hex.EncodeToString(sum[:8])
	return layOut(merged)
}

func decodeExactly(doc []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("is not a JSON object: %w", err)
	}
	return nil
}

// encode writes JSON as people can read it in a diff of one line: sorted, without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return b.Bytes(), err
}

// merger adds one document to another.
type merger struct {
	merged, added map[string]any
}

// own is what a contract of tools may say.
var own = []string{"components", "info", "openapi", "paths", "tags", "x-sekisho-backends", "x-sekisho-functions", "x-sekisho-limits"}

func (m merger) checkMembers() error {
	if version, _ := m.added["openapi"].(string); !strings.HasPrefix(version, "3.0.") {
		return fmt.Errorf("openapi is %q, and API Gateway takes 3.0: make a contract of it with `sekisho import`", version)
	}
	for _, name := range slices.Sorted(maps.Keys(m.added)) {
		isExtension := strings.HasPrefix(name, "x-") && !strings.HasPrefix(name, "x-sekisho-") || strings.HasPrefix(name, "x-sekisho-import")
		if !slices.Contains(own, name) && !isExtension {
			return fmt.Errorf("a contract of tools has no %s: take it out; it has %s", name, strings.Join(own, ", "))
		}
	}
	return nil
}

// add enters the members of one object into another. kind names them in the error.
func add(kind string, into, from map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, taken := into[name]; taken {
			return fmt.Errorf("%s %s is in the contract of tools and in the service's own: rename yours", kind, name)
		}
		into[name] = from[name]
	}
	return nil
}

// child returns a member that is an object, and makes it where it is missing.
func child(of map[string]any, name string) map[string]any {
	o := object(of[name])
	if o == nil {
		o = map[string]any{}
		of[name] = o
	}
	return o
}

func (m merger) addTags() error {
	names := func(list any) (all []string) {
		tags, _ := list.([]any)
		for _, tag := range tags {
			name, _ := object(tag)["name"].(string)
			all = append(all, name)
		}
		return all
	}
	base, _ := m.merged["tags"].([]any)
	more, _ := m.added["tags"].([]any)
	for _, name := range names(more) {
		if slices.Contains(names(base), name) {
			return fmt.Errorf("the tag %s is in the contract of tools and in the service's own: rename yours, in tags and in its operations", name)
		}
	}
	m.merged["tags"] = append(base, more...)
	return nil
}

func (m merger) addFunctions() error {
	functions := object(m.added["x-sekisho-functions"])
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if !functionForm().MatchString(name) {
			return fmt.Errorf("x-sekisho-functions.%s: use 1 to 32 lower-case letters, digits, - and _, beginning with a letter", name)
		}
	}
	return add("the function", child(m.merged, "x-sekisho-functions"), functions)
}

// relayTimeout is that of a function before a backend, in seconds: nearly all that API Gateway
// waits for, and less than mcp waits for it.
const relayTimeout = 25

// addBackends makes a function of each backend.
func (m merger) addBackends() error {
	functions := child(m.merged, "x-sekisho-functions")
	backends := object(m.added["x-sekisho-backends"])
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		raw, err := json.Marshal(backends[name])
		if err != nil {
			return err
		}
		var b Backend
		if err := decodeStrictly(raw, &b); err != nil {
			return fmt.Errorf("x-sekisho-backends.%s: %w", name, err)
		}
		if err := b.check(name); err != nil {
			return fmt.Errorf("x-sekisho-backends.%s: %w", name, err)
		}
		if _, taken := functions[name]; taken || name == fallbackName {
			return fmt.Errorf("x-sekisho-backends.%s: a function has this name, and a backend's function is called after it: rename the backend, there and in its operations", name)
		}
		functions[name] = map[string]any{"binary": relay, "timeout_seconds": relayTimeout}
	}
	if len(backends) == 0 {
		return nil
	}
	return add("the backend", child(m.merged, "x-sekisho-backends"), backends)
}

func (m merger) addComponents() error {
	into, from := child(m.merged, "components"), object(m.added["components"])
	for _, kind := range slices.Sorted(maps.Keys(from)) {
		if !slices.Contains([]string{"parameters", "responses", "schemas"}, kind) {
			return fmt.Errorf("components.%s is not read: write what is in it where it is used; only parameters, responses and schemas are", kind)
		}
		if err := add("components."+kind, child(into, kind), object(from[kind])); err != nil {
			return err
		}
	}
	return nil
}

// addLimits takes the one limit that an account can have raised.
func (m merger) addLimits() error {
	limits := object(m.added["x-sekisho-limits"])
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		n, err := cmp.Or(jsonNumber(limits[name]), json.Number("0")).Int64()
		if name != "resources" || err != nil || n < 1 {
			return fmt.Errorf("x-sekisho-limits.%s: a contract of tools sets nothing but resources, the quota of your account for resources in an API of API Gateway", name)
		}
		child(m.merged, "x-sekisho-limits")[name] = limits[name]
	}
	return nil
}

func jsonNumber(v any) json.Number {
	n, _ := v.(json.Number)
	return n
}

func (m merger) addPaths() error {
	paths, added := child(m.merged, "paths"), object(m.added["paths"])
	tags, named := map[string]bool{}, map[string]bool{}
	list, _ := m.added["tags"].([]any)
	for _, tag := range list {
		name, _ := object(tag)["name"].(string)
		tags[name] = true
	}
	for _, path := range slices.Sorted(maps.Keys(added)) {
		if !strings.HasPrefix(path, "/") {
			return fmt.Errorf("path %q: begin it with /", path)
		}
		item := object(added[path])
		for _, member := range slices.Sorted(maps.Keys(item)) {
			method, isMethod := methods[member]
			switch {
			case member == "summary" || member == "description":
				continue
			case !isMethod:
				return fmt.Errorf("path %s: %s is not read here: write it into each operation, or take it out", path, member)
			}
			op := object(item[member])
			if err := m.checkOperation(op, tags); err != nil {
				return fmt.Errorf("%s %s (%v): %w", method, path, op["operationId"], err)
			}
			backend, _ := object(op["x-sekisho"])["backend"].(string)
			named[backend] = true
			into := child(paths, path)
			if other := object(into[member]); other != nil {
				return fmt.Errorf("%s %s is %v in the contract of tools and %v in the service's own: give yours another path", method, path, op["operationId"], other["operationId"])
			}
			delete(op, "x-sekisho-source") // what an import needs to know when it is run again
			delete(op, "x-sekisho-imported")
			into[member] = op
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object(m.added["x-sekisho-backends"]))) {
		if !named[name] {
			return fmt.Errorf("x-sekisho-backends.%s: no operation names it: take it out, or write backend: %s into the x-sekisho of those that it serves", name, name)
		}
	}
	return nil
}

// checkOperation sees what an operation says of itself, and gives one with a backend its
// function.
func (m merger) checkOperation(op map[string]any, tags map[string]bool) error {
	if err := rightTypes(op); err != nil {
		return err
	}
	if len(object(op["responses"])) == 0 {
		return errors.New("responses is missing: describe the answer with status \"200\"")
	}
	if id, _ := op["operationId"].(string); !operationID().MatchString(id) {
		return errors.New("operationId: write CATEGORY.NAME, each of lower-case letters, digits and _")
	}
	if list, _ := op["tags"].([]any); len(list) != 1 {
		return fmt.Errorf("tags has %d members: write one, the category", len(list))
	} else if name, _ := list[0].(string); !tags[name] {
		return fmt.Errorf("the tag %v is not described: add it to tags at the top", list[0])
	}
	ours := object(op["x-sekisho"])
	if _, given := ours["units"].(json.Number); !given {
		return errors.New("x-sekisho.units is missing: write how many units a call takes from the monthly limit, 0 for none")
	}
	if _, given := ours["resource"]; given {
		return errors.New("x-sekisho.resource is what the merge finds out: take it out")
	}
	function, _ := ours["function"].(string)
	backend, _ := ours["backend"].(string)
	switch {
	case (function == "") == (backend == ""):
		return errors.New("x-sekisho names a backend or a function that serves it, and one of them only: backend: NAME")
	case backend != "":
		return m.checkBackendOperation(op, ours, backend)
	case !functionForm().MatchString(function):
		return fmt.Errorf("x-sekisho.function %s: use 1 to 32 lower-case letters, digits, - and _, beginning with a letter", function)
	}
	return nil
}

// kinds are those of the members of an operation.
var kinds = map[reflect.Kind]string{
	reflect.String: "a text", reflect.Bool: "true or false", reflect.Int64: "a whole number", reflect.Slice: "a list",
	reflect.Struct: "an object", reflect.Map: "an object", reflect.Pointer: "true or false",
}

// rightTypes says which member of an operation is of another type than it should be.
func rightTypes(op map[string]any) error {
	encoded, err := json.Marshal(op)
	if err != nil {
		return err
	}
	var r rawOperation
	err = json.Unmarshal(encoded, &r)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		return fmt.Errorf("%s: write %s, not a %s", wrong.Field, kinds[wrong.Type.Kind()], wrong.Value)
	}
	return err
}

func (m merger) checkBackendOperation(op, ours map[string]any, backend string) error {
	declared := object(m.added["x-sekisho-backends"])
	if _, ok := declared[backend]; !ok {
		return fmt.Errorf("x-sekisho.backend %s is not declared: add it to x-sekisho-backends, as in %s: { type: http }", backend, backend)
	}
	if _, given := op["security"]; given {
		return errors.New("security: every operation of a backend needs a key, so that it is metered: take it out")
	}
	for name := range op {
		if strings.HasPrefix(name, "x-amazon-") {
			return fmt.Errorf("%s: the relay serves every operation of a backend: take it out", name)
		}
	}
	ours["function"] = backend
	return nil
}

// checkNames: tools have one name each over MCP, and in every form that hosts give it.
func (m merger) checkNames() error {
	type named struct {
		form int
		name string
	}
	owner := map[named]string{}
	enter := func(id, where string) error {
		name := ListedName(id)
		if len(name) > MaxToolName {
			return fmt.Errorf("%s: %s has %d characters, and a tool's name at most %d: shorten the operationId", where, name, len(name), MaxToolName)
		}
		for i, form := range HostNames(id) {
			if other, taken := owner[named{i, form}]; taken {
				return fmt.Errorf("%s and %s would both be the tool %s: give yours another operationId", other, where, form)
			}
			owner[named{i, form}] = where
		}
		return nil
	}
	composites, _ := m.merged["x-sekisho-composite-tools"].([]any)
	for _, c := range composites {
		name, _ := object(c)["name"].(string)
		if err := enter(name, "the service's own "+name); err != nil {
			return err
		}
	}
	return eachOperation(m.merged, func(method, path string, op map[string]any) error {
		id, _ := op["operationId"].(string)
		return enter(id, fmt.Sprintf("%s %s (%s)", method, path, id))
	})
}

// eachOperation calls visit for each operation of a document, in order of path and method.
func eachOperation(doc map[string]any, visit func(method, path string, op map[string]any) error) error {
	paths := object(doc["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := object(paths[path])
		for _, member := range slices.Sorted(maps.Keys(item)) {
			if method, ok := methods[member]; ok {
				if err := visit(method, path, object(item[member])); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// check parses what was merged, and reads all that functions read when they are first called.
func check(doc []byte) error {
	api, err := Parse(doc)
	if err != nil {
		return err
	}
	if _, err := api.routes(); err != nil {
		return err
	}
	for _, op := range api.Operations {
		s, err := op.Schemas()
		if err != nil {
			return err
		}
		for name := range s.properties {
			if !argumentName().MatchString(name) {
				return fmt.Errorf("contract: %s: argument %q: use 1 to 64 letters, digits and _, and say the backend's name with x-sekisho-name", op.ID, name)
			}
		}
	}
	return api.CheckSchemas()
}
