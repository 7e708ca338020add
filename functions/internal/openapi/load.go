package openapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"sekisho/functions/internal/outbound"
)

// Bounds of what is read. The largest public description, Microsoft Graph's, has 47 MB and 2.6
// million values.
const (
	MaxBytes      = 50 << 20 // of a description and what it refers to, together
	maxDocuments  = 1000
	maxJSONValues = 8_000_000
	maxYAMLValues = 3_000_000 // a parsed value of YAML takes several times the memory
	fetchTimeout  = time.Minute
)

// source is where a description and the documents beside it are read from. Names are slash
// paths relative to the description's own directory.
type source interface {
	// read returns at most limit+1 bytes, so that more than limit can be told.
	read(ctx context.Context, name string, limit int64) ([]byte, error)
	close()
}

// openSource says where a location's documents are, the name of the description among them,
// and how to call it in a report: without directories, credentials or query.
func openSource(location string, private bool) (from source, name, label string, err error) {
	if u, err := url.Parse(location); err == nil && len(u.Scheme) > 1 {
		return openURL(u, private)
	}
	dir, name := filepath.Split(location)
	root, err := os.OpenRoot(cmp.Or(dir, "."))
	if err != nil {
		return nil, "", "", fmt.Errorf("%s: %w", location, cause(err))
	}
	return directory{root}, name, name, nil
}

// directory is a local one. os.Root keeps symbolic links within it.
type directory struct{ root *os.Root }

func (d directory) close() { d.root.Close() }

func (d directory) read(_ context.Context, name string, limit int64) ([]byte, error) {
	info, err := d.root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() { // to open a pipe would wait for its other end
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := d.root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// cause leaves out the system call and the path, which the caller's error names.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// site is the directory of a URL, and what is below it.
type site struct {
	client *outbound.Client
	base   *url.URL
}

func openURL(u *url.URL, private bool) (from source, name, label string, err error) {
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", "", fmt.Errorf("%s: give a file, or an http or https URL", u.Redacted())
	}
	client, err := outbound.New(outbound.Config{
		MaxBytes: MaxBytes, Timeout: fetchTimeout, AllowPrivate: private, SameOrigin: true,
	})
	if err != nil {
		return nil, "", "", err
	}
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	name = path.Base(u.Path)
	if u.Path == "" || strings.HasSuffix(u.Path, "/") {
		name = ""
	}
	return site{client, u}, name, shown.String(), nil
}

func (s site) close() { s.client.Close() }

func (s site) read(ctx context.Context, name string, _ int64) ([]byte, error) {
	target := s.base
	if name != path.Base(s.base.Path) && name != "" {
		target = s.base.ResolveReference(&url.URL{Path: "./" + name})
	}
	return outbound.Do(ctx, s.client, outbound.Request{URL: target.String()}, func(r outbound.Response) ([]byte, error) {
		text, err := r.Text()
		return []byte(text), err
	})
}

// parse reads JSON or YAML into maps, lists and scalars.
func parse(text []byte) (any, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, errors.New("the document is not UTF-8 text: save it as UTF-8")
	}
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("the document is empty")
	case trimmed[0] == '<':
		return nil, errors.New("the document is HTML or XML: give the address of the description itself, not of its page")
	case trimmed[0] == '{':
		return parseJSON(text)
	}
	return parseYAML(text)
}

func parseJSON(text []byte) (any, error) {
	if values(text, true) > maxJSONValues {
		return nil, fmt.Errorf("the document has more than %d values", maxJSONValues)
	}
	var v any
	err := json.Unmarshal(text, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := text[:min(int(syntax.Offset), len(text))]
		line := 1 + bytes.Count(before, []byte("\n"))
		return nil, fmt.Errorf("line %d, column %d: not valid JSON: %w", line, len(before)-bytes.LastIndexByte(before, '\n')-1, err)
	}
	return v, err
}

func parseYAML(text []byte) (_ any, err error) {
	if values(text, false) > maxYAMLValues {
		return nil, fmt.Errorf("the document has more than %d values: convert it to JSON, of which more are read", maxYAMLValues)
	}
	defer func() {
		if r := recover(); r != nil { // yaml.v3 has panicked on broken documents before
			err = fmt.Errorf("not valid YAML: %v", r)
		}
	}()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return plain(v), nil
}

// values is an upper bound of how many values a document has, by its punctuation.
func values(text []byte, quoted bool) (n int) {
	within := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && within && c == '\\':
			i++
		case quoted && c == '"':
			within = !within
		case within:
		case c == ',' || c == '[' || c == '{' || c == ':' && !quoted || c == '\n' && !quoted:
			n++
		}
	}
	return n
}

// plain makes of what YAML has and JSON has not: keys that are no strings, and times.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = plain(value)
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for name, value := range v {
			m[fmt.Sprint(name)] = plain(value)
		}
		return m
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format(time.DateOnly)
		}
		return v.Format(time.RFC3339)
	}
	return v
}
