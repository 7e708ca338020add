package contract

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/lazy"
	"sekisho/functions/internal/reply"
)

// read makes of each argument what its sender meant, where that can't be misread. Agents send
// null or "" for what they want to leave out, and numbers and booleans as strings; a query
// can't do otherwise. What could mean something else stays as it is, and is refused. Numbers
// become float64, which is what the validator knows; exact holds those that lost digits by it.
func (s *Schemas) read(args map[string]any) (exact map[string]json.Number, err error) {
	exact = map[string]json.Number{}
	for name, value := range args {
		p := s.properties[name]
		optional := !slices.Contains(s.required, name)
		if value == nil || value == "" && optional && !p.takesEmpty {
			delete(args, name)
			continue
		}
		n, _ := value.(json.Number)
		if text, ok := value.(string); ok && decimalNumber().MatchString(text) {
			n = json.Number(strings.TrimPrefix(text, "+"))
		}
		if p.isNumber() && losesDigits(n) {
			exact[name] = n
		}
		meant, wrong := p.read(float(value))
		if wrong != "" {
			return nil, s.wrong(name, wrong)
		}
		args[name] = meant
	}
	return exact, nil
}

func (p property) isNumber() bool { return p.kind == "number" || p.kind == "integer" }

// float replaces each json.Number in a value, at any depth, by the nearest float64. One that is
// too large stays a text, and is refused as such.
func float(value any) any {
	switch v := value.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = float(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = float(v[name])
		}
	}
	return value
}

// losesDigits says that a number has digits that its nearest float64 does not have.
func losesDigits(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f != 0 && json.Valid([]byte(n)) && significant(n.String()) != significant(strconv.FormatFloat(f, 'e', -1, 64))
}

// significant returns the digits of a decimal number without zeros at either end.
func significant(number string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	return strings.Trim(strings.NewReplacer("+", "", "-", "", ".", "").Replace(mantissa), "0")
}

// read returns the value that is meant, or what is wrong with it.
func (p property) read(value any) (meant any, wrong string) {
	switch v := value.(type) {
	case string:
		return p.fromText(v)
	case float64:
		if p.kind != "string" {
			return v, ""
		}
		// A number has lost its leading zeros, if there were any. With all its digits there,
		// there were none.
		if digits := strconv.FormatFloat(v, 'f', -1, 64); p.digits > 0 && len(digits) == p.digits && v >= 0 {
			return digits, ""
		}
		return nil, "a number, which loses leading zeros; send it as text, in quotes"
	case []any:
		return p.elements(v)
	}
	return value, ""
}

// decimalNumber leaves out what strconv takes beside decimal numbers: Inf, NaN, 0x1p4, 1_000.
var decimalNumber = lazy.Regexp(`^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$`)

func (p property) fromText(text string) (meant any, wrong string) {
	switch p.kind {
	case "integer", "number":
		n, err := strconv.ParseFloat(text, 64)
		isNumber := err == nil && decimalNumber().MatchString(text)
		switch {
		case p.kind == "integer" && !(isNumber && n == math.Trunc(n)):
			return nil, reply.Quote(text) + " is not a whole number"
		case !isNumber:
			return nil, reply.Quote(text) + " is not a number"
		}
		return n, ""
	case "boolean":
		switch strings.ToLower(text) {
		case "true":
			return true, ""
		case "false":
			return false, ""
		}
		return nil, reply.Quote(text) + " is neither true nor false"
	case "array", "object":
		if value, ok := p.fromJSON(text).([]any); ok {
			return p.elements(value)
		}
		return p.fromJSON(text), ""
	}
	return text, ""
}
