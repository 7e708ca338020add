package openapi

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// schema is what the contract says about an argument or a part of one.
type schema struct {
	kind     string
	text     string
	choices  []string
	limits   map[string]float64
	example  any
	members  map[string]*schema
	required []string
	items    *schema
	wire     string // the backend's name, if it is another one
	style    string // of a list or an object in a form
	json     bool   // a string that holds JSON: what no strict schema can describe
	open     bool   // an object that may have other members: answers are
}

// builder makes schemas of arguments, within bounds of depth and size.
type builder struct {
	*shaper
	left   int       // nodes
	within []uintptr // schemas that this one is in, to notice recursion
}

// errSize: too many nodes at this depth; a smaller one may do.
var errSize = errors.New("too many members")

// argument describes one argument, as deep as the budget allows. It never fails: what can't be
// described is a string that holds JSON.
func (s *shaper) argument(n node, where string, nodes int) *schema {
	all := s.notes
	defer func() { s.notes = all }()
	for depth := mostDepth; depth >= 0; depth-- {
		var notes []Note
		s.notes = func(kind Kind, reason, argument, detail string) {
			notes = append(notes, Note{Kind: kind, Reason: reason, Argument: argument, Detail: detail})
		}
		b := &builder{shaper: s, left: nodes}
		made, err := b.build(n, where, depth)
		if err == nil {
			for _, note := range notes {
				all(note.Kind, note.Reason, note.Argument, note.Detail)
			}
			return made
		}
	}
	all(Simplified, "too large to be described: a string that holds JSON", where, "")
	return jsonText(where, "")
}

// jsonText is a string that holds JSON.
func jsonText(where, text string) *schema {
	text = strings.TrimRight(firstText(brief(text, longArgument-20), fallbackText(where)), ".")
	return &schema{kind: "string", json: true, text: text + ". As JSON text."}
}

func (b *builder) build(n node, where string, depth int) (*schema, error) {
	if b.left--; b.left < 0 {
		return nil, errSize
	}
	v, err := b.shape(n, 0)
	switch {
	case errors.Is(err, errBudget):
		b.notes(Simplified, "too large to be described: a string that holds JSON", where, "")
		return jsonText(where, n.text("description")), nil
	case err != nil:
		b.notes(Simplified, "a reference can't be followed: a string that holds JSON", where, err.Error())
		return jsonText(where, n.text("description")), nil
	}
	if found := instructs(v.text); found != "" {
		b.notes(Warning, "reads like an instruction to the model: check it", where, found)
	}
	target, _ := b.doc.follow(n)
	at := reflect.ValueOf(target.value)
	if at.Kind() == reflect.Map {
		if slices.Contains(b.within, at.Pointer()) {
			b.notes(Simplified, "recursive: from here on a string that holds JSON", where, "")
			return jsonText(where, firstText(v.text, v.title)), nil
		}
		b.within = append(b.within, at.Pointer())
		defer func() { b.within = b.within[:len(b.within)-1] }()
	}
	switch v.kind {
	case "object":
		return b.object(v, where, depth)
	case "array":
		return b.array(v, where, depth)
	case "string", "integer", "number", "boolean":
		return b.scalar(v, where), nil
	}
	if v.mixed != "" {
		b.notes(Simplified, "of more than one kind: a string that holds JSON", where, v.mixed)
	} else {
		b.notes(Simplified, "of no stated kind: a string that holds JSON", where, "")
	}
	return jsonText(where, firstText(v.text, v.title)), nil
}

func (b *builder) object(v *shape, where string, depth int) (*schema, error) {
	if len(v.properties) == 0 {
		b.notes(Simplified, "an object of any members: a string that holds JSON", where, "")
		return jsonText(where, firstText(v.text, v.title)), nil
	}
	if depth == 0 {
		b.notes(Simplified, "nested too deep or too large: a string that holds JSON", where, "")
		return jsonText(where, firstText(v.text, v.title, "An object with "+strings.Join(slices.Sorted(maps.Keys(v.properties)), ", "))), nil
	}
	made := &schema{kind: "object", text: describe(v), members: map[string]*schema{}}
	for _, name := range slices.Sorted(maps.Keys(v.properties)) {
		member, err := b.member(v, name, where, depth)
		if err != nil {
			return nil, err
		}
		if member == nil {
			continue
		}
		ours := argumentNameFor(name, func(taken string) bool { return made.members[taken] != nil })
		if ours != name {
			member.wire = name
			b.notes(Renamed, "not a name that every host takes", inside(where, name), ours)
		}
		made.members[ours] = member
		if v.required[name] {
			made.required = append(made.required, ours)
		}
	}
	if len(made.members) == 0 {
		return jsonText(where, firstText(v.text, v.title)), nil
	}
	return made, nil
}

// member is nil for what callers can't set.
func (b *builder) member(v *shape, name, where string, depth int) (*schema, error) {
	n, at := v.properties[name], inside(where, name)
	if p, err := b.shape(n, 0); err == nil && (p.readOnly || p.kind == "null") {
		b.notes(LeftOut, "read-only: the backend sets it", at, "")
		return nil, nil
	} else if err == nil && p.nullable && v.required[name] {
		b.notes(Simplified, "required, but may be null: null can't be sent", at, "")
	}
	made, err := b.build(n, at, depth-1)
	if made != nil && made.text == "" {
		made.text = fallbackText(name)
	}
	return made, err
}

func (b *builder) array(v *shape, where string, depth int) (*schema, error) {
	made := &schema{kind: "array", text: describe(v), limits: only(v.limits, "minItems", "maxItems")}
	if v.items.object() == nil {
		b.notes(Simplified, "a list of anything: each element is a string that holds JSON", where, "")
		made.items = &schema{kind: "string", json: true}
		return made, nil
	}
	var err error
	made.items, err = b.build(v.items, where+"[]", max(depth-1, 0))
	return made, err
}

func (b *builder) scalar(v *shape, where string) *schema {
	made := &schema{kind: v.kind, text: describe(v)}
	switch v.kind {
	case "string":
		made.limits = only(v.limits, "minLength", "maxLength")
		if v.pattern != "" { // agents don't see patterns, and those of descriptions refuse what is right too often
			b.notes(Simplified, "a pattern is left to the backend to check", where, v.pattern)
		}
		made.choices = choices(v)
		if made.choices == nil && v.choices != nil {
			b.notes(Simplified, "too many choices, or ones that hosts refuse: any string", where, strconv.Itoa(len(v.choices)))
		}
		if made.choices != nil {
			made.limits = nil
		}
	case "integer", "number":
		made.limits = only(v.limits, "minimum", "maximum")
		if v.kind == "integer" { // exclusive ones have a neighbour that is not
			if f, ok := v.limits["exclusiveMinimum"]; ok {
				made.limits["minimum"] = math.Floor(f) + 1
			}
			if f, ok := v.limits["exclusiveMaximum"]; ok {
				made.limits["maximum"] = math.Ceil(f) - 1
			}
		}
	}
	switch e := v.example.(type) {
	case string:
		if v.kind == "string" && len(e) <= 80 && e == visible(e) {
			made.example = e
		}
	case float64:
		if v.kind == "number" || v.kind == "integer" && e == math.Trunc(e) {
			made.example = e
		}
	}
	return made
}

// choices are a string's, if they fit into every host's list.
func choices(v *shape) []string {
	if len(v.choices) > 2*mostChoices { // some may be said twice
		return nil
	}
	var list []string
	size := 0
	for _, c := range v.choices {
		text, ok := c.(string)
		if !ok {
			text = strings.TrimSuffix(fmt.Sprint(c), ".0")
		}
		if text == "" { // Gemini refuses an empty choice; it is what leaving out says
			continue
		}
		if text != clean(text, 200) {
			return nil
		}
		size += len(text)
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	if len(list) > mostChoices || size > 2000 {
		return nil
	}
	return list
}

func only(limits map[string]float64, names ...string) map[string]float64 {
	kept := map[string]float64{}
	for _, name := range names {
		f, ok := limits[name]
		if strings.HasSuffix(name, "Length") || strings.HasSuffix(name, "Items") {
			ok = ok && f >= 0 && f == math.Trunc(f) && !(f == 0 && strings.HasPrefix(name, "min"))
		}
		if ok {
			kept[name] = f
		}
	}
	return kept
}

// describe says what an argument is, and the limits that listed schemas leave out.
func describe(v *shape) string {
	facts := facts(v)
	text := brief(firstText(v.text, v.title), max(longArgument-utf8.RuneCountInString(facts)-1, longArgument/2))
	if text == "" || facts == "" {
		return text + facts
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "…") && !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "!") {
		text += "."
	}
	return text + " " + facts
}

// facts are limits, format and default in words.
func facts(v *shape) string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	between := func(least, most, unit string) {
		low, hasLow := v.limits[least]
		high, hasHigh := v.limits[most]
		switch {
		case hasLow && hasHigh && low == high:
			say("%s%s", number(low), unit)
		case hasLow && hasHigh:
			say("%s to %s%s", number(low), number(high), unit)
		case hasLow && !(low == 0 && unit != ""):
			say("at least %s%s", number(low), unit)
		case hasHigh:
			say("at most %s%s", number(high), unit)
		}
	}
	switch v.kind {
	case "integer", "number":
		between("minimum", "maximum", "")
		if f, ok := v.limits["exclusiveMinimum"]; ok {
			say("more than %s", number(f))
		}
		if f, ok := v.limits["exclusiveMaximum"]; ok {
			say("less than %s", number(f))
		}
		if n := len(v.choices); n > 0 && n <= 12 {
			var each []string
			for _, c := range v.choices {
				each = append(each, clean(fmt.Sprint(c), 20))
			}
			say("one of %s", strings.Join(each, ", "))
		}
	case "string":
		if v.choices == nil {
			between("minLength", "maxLength", " characters")
		}
		if f := formats[v.format]; f != "" {
			say("%s", f)
		}
	case "array":
		between("minItems", "maxItems", " elements")
	}
	switch d := v.fallback.(type) {
	case string:
		if d != "" && len(d) <= 40 {
			say("default %s", clean(d, 40))
		}
	case float64:
		say("default %s", number(d))
	case bool:
		if d {
			say("default true")
		}
	}
	if len(list) == 0 {
		return ""
	}
	text := strings.Join(list, "; ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// formats are those that say more than their schema's kind.
var formats = map[string]string{
	"date": "YYYY-MM-DD", "date-time": "RFC 3339 date and time", "datetime": "RFC 3339 date and time", "time": "HH:MM:SS",
	"uuid": "a UUID", "uri": "a URI", "url": "a URL", "email": "an email address", "byte": "Base64", "base64": "Base64",
	"binary": "bytes", "ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "hostname": "a host name", "duration": "ISO 8601 duration",
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// fallbackText describes what the description says nothing about, by its name.
func fallbackText(where string) string {
	where = strings.TrimRight(where, "[]")
	name := where[strings.LastIndexByte(where, '.')+1:]
	words := strings.ReplaceAll(snake(name), "_", " ")
	if words == "" {
		return "A value."
	}
	return strings.ToUpper(words[:1]) + words[1:] + "."
}

func inside(where, name string) string {
	if where == "" || where == "body" {
		return name
	}
	return where + "." + name
}

// argumentNameFor makes a name that every host takes, and that is not taken.
func argumentNameFor(name string, taken func(string) bool) string {
	ours := name
	if !argumentName.MatchString(name) {
		ours = shorten(snake(name), mostArgument)
		if ours == "" || ours[0] >= '0' && ours[0] <= '9' {
			ours = shorten(strings.Trim("x_"+ours, "_"), mostArgument)
		}
	}
	if taken(ours) {
		ours = shorten(ours, mostArgument-7) + "_" + mark(name)
	}
	return ours
}
