package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sekisho/functions/internal/lazy"
	"sekisho/functions/internal/reply"
)

// mostName is how many characters of an unknown argument's name an error repeats.
const mostName = 40

// MaxBody is the largest JSON body that an operation takes, in bytes.
const MaxBody = 64 << 10

// ArgumentError says which argument of a call is wrong and what is expected.
type ArgumentError struct {
	// Param is the argument's name; empty if the error is about the call as a whole.
	Param   string
	Message string
}

func (e *ArgumentError) Error() string {
	if e.Param == "" {
		return e.Message
	}
	return e.Param + ": " + e.Message
}

// Bind collects a REST call's arguments from its path, query and body, converts each to the
// type in its schema, and validates them. The error is an *ArgumentError.
func (op *Operation) Bind(path map[string]string, query map[string][]string, body []byte) (map[string]any, error) {
	s, err := op.Schemas()
	if err != nil {
		return nil, err
	}
	args := map[string]any{}
	if op.HasBody {
		if err := decodeBody(body, args); err != nil {
			return nil, err
		}
	}
	for name, values := range query {
		if err := s.bindQuery(args, name, values); err != nil {
			return nil, err
		}
	}
	for name, value := range path {
		// API Gateway decodes the query but passes path parameters on as they were sent.
		text, err := url.PathUnescape(value)
		if err != nil {
			return nil, s.wrong(name, "the percent-encoding is broken")
		}
		if err := s.bindText(args, name, text); err != nil {
			return nil, err
		}
		if list, ok := s.properties[name].listOf(strings.Split(text, ",")); ok && !looksLikeJSON(text) {
			args[name] = list
		}
	}
	return args, s.Validate(args)
}

func decodeBody(body []byte, args map[string]any) error {
	if len(body) > MaxBody {
		return &ArgumentError{Message: fmt.Sprintf("the body has %d bytes; at most %d are taken", len(body), MaxBody)}
	}
	if !utf8.Valid(body) {
		return &ArgumentError{Message: "the body is not UTF-8; send UTF-8 encoded JSON"}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // for the digits that a float64 has no room for
	if err := decoder.Decode(&args); err != nil || args == nil {
		return &ArgumentError{Message: "the body is not a JSON object; send one with the arguments as members"}
	}
	if _, err := decoder.Token(); err != io.EOF {
		return &ArgumentError{Message: "something follows the JSON object in the body; send one object only"}
	}
	return nil
}

func (s *Schemas) bindQuery(args map[string]any, name string, values []string) error {
	isQuery := slices.ContainsFunc(s.Params, func(p Param) bool { return p.Name == name && p.In == "query" })
	if !isQuery {
		return &ArgumentError{Param: reply.Cut(name, mostName), Message: "no such query parameter; " + s.known()}
	}
	if list, ok := s.properties[name].listOf(values); ok && len(values) > 0 {
		for _, value := range values {
			if err := s.bindText(args, name, value); err != nil {
				return err
			}
		}
		args[name] = list
		return nil
	}
	if len(values) > 1 {
		return &ArgumentError{Param: name, Message: fmt.Sprintf("given %d times; give it once", len(values))}
	}
	if len(values) == 0 {
		return nil
	}
	return s.bindText(args, name, values[0])
}

// bindText adds an argument that arrives as text; validate reads it.
func (s *Schemas) bindText(args map[string]any, name, text string) error {
	if _, ok := s.properties[name]; !ok {
		return nil // a path parameter that only routes, such as a greedy proxy
	}
	// API Gateway replaces invalid UTF-8 with U+FFFD.
	if !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		return &ArgumentError{Param: name, Message: "not UTF-8; percent-encode UTF-8 text"}
	}
	args[name] = text
	return nil
}

// propertyPath finds an argument's name in the validator's path to a fault.
var propertyPath = lazy.Regexp(`/properties/([A-Za-z0-9_]+)`)

// Validate is that of the operation's schemas.
func (op *Operation) Validate(args map[string]any) error {
	s, err := op.Schemas()
	if err != nil {
		return err
	}
	return s.Validate(args)
}

// Validate reads the arguments leniently (see read), checks them against the input schema, and
// fills in defaults. Numbers in it may be of type json.Number; they become float64, or stay
// json.Number if they have more digits. The error is an *ArgumentError.
func (s *Schemas) Validate(args map[string]any) error {
	for name := range args {
		if _, ok := s.properties[name]; !ok {
			return &ArgumentError{Param: reply.Cut(name, mostName), Message: "no such argument; " + s.known()}
		}
	}
	exact, err := s.read(args)
	if err != nil {
		return err
	}
	for _, name := range s.required {
		if _, ok := args[name]; !ok {
			return s.wrong(name, "missing")
		}
	}
	schema, err := s.compiled()
	if err != nil {
		return fmt.Errorf("contract: input schema: %w", err)
	}
	if err := schema.Validate(args); err != nil {
		return s.explain(err)
	}
	for name, n := range exact {
		args[name] = n
	}
	for name, p := range s.properties {
		if _, ok := args[name]; !ok && p.fallback != nil {
			args[name] = p.fallback
		}
	}
	return nil
}

// Takes says whether the operation has an argument of that name.
func (op *Operation) Takes(name string) bool {
	s, err := op.Schemas()
	if err != nil {
		return false
	}
	_, ok := s.properties[name]
	return ok
}

func (s *Schemas) wrong(name, message string) error {
	if p, ok := s.properties[name]; ok && p.description != "" {
		message += ". Expected: " + p.description
		if !slices.Contains(s.required, name) {
			message += " Or leave it out."
		}
	}
	return &ArgumentError{Param: name, Message: message}
}

func (s *Schemas) known() string {
	names := make([]string, 0, len(s.properties))
	for name := range s.properties {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "there are none"
	}
	slices.Sort(names)
	return "known: " + strings.Join(names, ", ")
}

// Parts are the arguments of a call where HTTP has them.
type Parts struct {
	// PathParameters are those of the operation's Resource, percent-encoded as API Gateway hands them
	// on, and so is Path.
	Path           string
	PathParameters map[string]string
	Query          url.Values
	// Body is JSON; nil where the operation has none.
	Body []byte
}

// Parts distributes arguments, which must be valid.
func (op *Operation) Parts(args map[string]any) (Parts, error) {
	s, err := op.Schemas()
	if err != nil {
		return Parts{}, err
	}
	p, inPath, body := Parts{Query: url.Values{}}, map[string]string{}, map[string]any{}
	for name, value := range args {
		switch s.place(name) {
		case "path":
			inPath[name] = url.PathEscape(text(value))
		case "query":
			addToQuery(p.Query, name, value)
		default:
			body[name] = value
		}
	}
	if p.Path, err = op.concretePath(inPath); err != nil {
		return Parts{}, err
	}
	p.PathParameters = op.resourceParameters(p.Path)
	if !op.HasBody {
		return p, nil
	}
	if p.Body, err = reply.JSON(body); err != nil {
		return Parts{}, fmt.Errorf("contract: %s: encode body: %w", op.ID, err)
	}
	return p, nil
}

// Request makes the HTTP request for a call with these arguments, which must be valid.
// base is the URL of the API without the operation's path, such as
// https://abc.execute-api.eu-west-1.amazonaws.com/prod.
func (op *Operation) Request(base string, args map[string]any) (*http.Request, error) {
	p, err := op.Parts(args)
	if err != nil {
		return nil, err
	}
	target := strings.TrimSuffix(base, "/") + p.Path
	if len(p.Query) > 0 {
		target += "?" + p.Query.Encode()
	}
	if !op.HasBody {
		return http.NewRequest(op.Method, target, nil)
	}
	request, err := http.NewRequest(op.Method, target, bytes.NewReader(p.Body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// concretePath puts escaped values into the path, whose own text is escaped where it must be.
func (op *Operation) concretePath(values map[string]string) (string, error) {
	steps := strings.Split(op.Path, "/")
	for i, step := range steps {
		texts, names, err := parts(step)
		if err != nil {
			return "", fmt.Errorf("contract: %s: %w", op.ID, err)
		}
		steps[i] = url.PathEscape(texts[0])
		for j, name := range names {
			steps[i] += values[strings.TrimSuffix(name, "+")] + url.PathEscape(texts[j+1])
		}
	}
	return strings.Join(steps, "/"), nil
}

func (s *Schemas) place(name string) string {
	for _, p := range s.Params {
		if p.Name == name {
			return p.In
		}
	}
	return "body"
}

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any, map[string]any:
		return jsonText(v)
	default:
		return fmt.Sprint(v)
	}
}
