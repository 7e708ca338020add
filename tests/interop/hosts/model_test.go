//go:build interop

package hosts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// offered is a tool as a host describes it to its model.
type offered struct {
	Name, Description string
	Schema            json.RawMessage
	// namespace is where some put the tools of one server.
	namespace string
}

// given is the result of a call as a host hands it to its model.
type given struct {
	Text string
	// Flag says whether the host marks an error: "", "error" or "ok". Some have no mark.
	Flag string
}

// asked is what a host sends to its model, in whatever dialect.
type asked struct {
	tools []offered
	// turns is how many of the model's turns with calls the conversation has.
	turns int
	// results are those of the last turn with calls.
	results []given
	stream  bool
	// raw is the whole request, for what only has to be in it somewhere.
	raw string
}

// toolCall is a call that the model makes. Tool is the name in our lists; name and namespace are the
// host's.
type toolCall struct {
	Tool            string
	Arguments       map[string]any
	id              string
	name, namespace string
}

func (c toolCall) arguments() string {
	raw, err := json.Marshal(c.Arguments)
	if err != nil {
		panic(err) // the script is ours
	}
	return string(raw)
}

// said is what the model answers: calls, or words where there are none.
type said struct {
	calls []toolCall
	text  string
}

// dialect is an API of models.
type dialect interface {
	read(body []byte, path string) (asked, error)
	write(w http.ResponseWriter, stream bool, s said) error
}

// dialects by the ends of the paths that speak them.
var dialects = []struct {
	path string
	dialect
}{
	{"/messages", anthropic{}},
	{"/chat/completions", chat{}},
	{"/responses", responses{}},
	{":generateContent", gemini{}},
	{":streamGenerateContent", gemini{}},
}

// script is what the model does, turn by turn.
type script interface {
	// next is asked for the turn's calls, once for every turn, with the results of the one before.
	next(turn int, a asked) []toolCall
}

// model plays a script to one host.
type model struct {
	script script
	keep   string

	mu     sync.Mutex
	turns  []said
	faults []string
	n      int
}

// callID names a call; the turn is read out of it again.
func callID(turn, i int) string { return fmt.Sprintf("call_%d_%d", turn, i) }

// turnOf is the turn that a call's id names, and -1 for another's.
func turnOf(id string) int {
	var turn, i int
	if n, err := fmt.Sscanf(id, "call_%d_%d", &turn, &i); n != 2 || err != nil {
		return -1
	}
	return turn
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	m.dump(fmt.Sprintf("%03d-request.json", m.n), append([]byte(r.Method+" "+r.URL.String()+"\n"), body...))
	for _, d := range dialects {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, d.path) {
			if err := m.answer(w, r, d.dialect, body); err != nil {
				m.faults = append(m.faults, fmt.Sprintf("%s: %v", r.URL.Path, err))
			}
			return
		}
	}
	beside(w, r)
}

func (m *model) answer(w http.ResponseWriter, r *http.Request, d dialect, body []byte) error {
	a, err := d.read(body, r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return err
	}
	a.raw = string(body)
	return d.write(w, a.stream, m.reply(a))
}

// reply is the turn that the conversation has come to: the same one when a host asks again. What has
// neither our tools nor our calls in it is about something else, such as a title.
func (m *model) reply(a asked) said {
	if a.turns == 0 && find(a.tools, probe).Name == "" && !offers(a, bridge) {
		return said{text: "Postal codes"}
	}
	if a.turns < len(m.turns) {
		return m.turns[a.turns]
	}
	s := said{text: "Done."}
	for i, c := range m.script.next(a.turns, a) {
		c.id = callID(a.turns, i)
		at := find(a.tools, c.Tool)
		if c.name, c.namespace = at.Name, at.namespace; c.name == "" {
			c.name = c.Tool // no longer offered: the host says what it makes of that
			if offers(a, bridge) {
				c.name, c.Arguments = bridge, object{"name": named(a, c.Tool), "arguments": c.Arguments}
			}
		}
		s.calls = append(s.calls, c)
	}
	m.turns = append(m.turns, s)
	return s
}

// bridge is the tool through which some hosts have others called, of which they give the model the
// names only.
const bridge = "tool_call"

func offers(a asked, name string) bool {
	return slices.ContainsFunc(a.tools, func(t offered) bool { return t.Name == name })
}

// named is the host's name of a tool that it only mentions in a text.
func named(a asked, tool string) string {
	names := append(regexp.MustCompile(`\w*`+tool+`\b`).FindAllString(a.raw, -1), tool)
	return slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
}

// probe is a tool that every list has.
const probe = "postal_lookup"

// find returns the offered tool that is ours: hosts put something before its name.
func find(tools []offered, name string) offered {
	for _, t := range tools {
		if t.Name == name || strings.HasSuffix(t.Name, "_"+name) || strings.HasSuffix(t.Name, "-"+name) || strings.HasSuffix(t.Name, "."+name) {
			return t
		}
	}
	return offered{}
}

// beside answers what hosts ask of a model's API besides: its models, and counts of tokens.
func beside(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		reply(w, map[string]any{"input_tokens": 1000})
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		reply(w, map[string]any{"totalTokens": 1000})
	case strings.HasSuffix(r.URL.Path, "/models"):
		reply(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": modelName, "object": "model"}}})
	default:
		http.NotFound(w, r)
	}
}

// modelName is what hosts are configured with where they know no name better.
const modelName = "scripted"

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a host that has gone away
}

// events writes server-sent events.
type events struct {
	w http.ResponseWriter
}

func newEvents(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

func (e events) send(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", raw)
}

func (m *model) dump(name string, body []byte) {
	if m.keep != "" {
		_ = os.WriteFile(filepath.Join(m.keep, name), body, 0o644)
	}
}

type object = map[string]any
