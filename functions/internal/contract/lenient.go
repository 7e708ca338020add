package contract

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/reply"
)

// read makes of each argument what its sender meant, where that can't be misread. Agents send
// null or "" for what they want to leave out, and numbers and booleans as strings; a query
// can't do otherwise. What could mean something else stays as it is, and is refused.
func (s *Schemas) read(args map[string]any) error {
	for name, value := range args {
		p := s.properties[name]
		optional := !slices.Contains(s.required, name)
		if value == nil || value == "" && optional && !p.takesEmpty {
			delete(args, name)
			continue
		}
		meant, wrong := p.read(value)
		if wrong != "" {
			return s.wrong(name, wrong)
		}
		args[name] = meant
	}
	return nil
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
	}
	return value, ""
}

// decimalNumber leaves out what strconv takes beside decimal numbers: Inf, NaN, 0x1p4, 1_000.
var decimalNumber = regexp.MustCompile(`^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$`)

func (p property) fromText(text string) (meant any, wrong string) {
	switch p.kind {
	case "integer", "number":
		n, err := strconv.ParseFloat(text, 64)
		isNumber := err == nil && decimalNumber.MatchString(text)
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
	}
	return text, ""
}
