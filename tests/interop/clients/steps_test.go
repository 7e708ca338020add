//go:build interop

package clients

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// stepTime is how long one step may take on a slow machine.
const stepTime = 2 * time.Minute

// trial is one row on its way through the steps.
type trial struct {
	row
	client  client
	service *service
	key     string
	report  *report

	// At the OAuth door it is a person who has the key.
	person *person
	keyID  string
}

// step is one column of the matrix. It returns what stands in the cell.
type step struct {
	name string
	run  func(*trial, context.Context, *testing.T) string
}

const ok = "ok"

// braked is the column that comes last, when all are done with the rest.
const braked = "braked"

// steps in the order of the columns. The first connection serves until the quota's step.
var steps = []step{
	{"connect", (*trial).connects},
	{"list", (*trial).lists},
	{"empty lists", (*trial).others},
	{"call", (*trial).calls},
	{"bad argument", (*trial).argument},
	{"unknown tool", (*trial).unknown},
	{"progress", (*trial).progress},
	{"slow tool", (*trial).slow},
	{"upstream failure", (*trial).upstream},
	{"function off", (*trial).functionOff},
	{"tool off", (*trial).toolOff},
	{"list kept", (*trial).listKept},
	{"quota used up", (*trial).quota},
	{"wrong key", (*trial).wrongKey},
	{"no key", (*trial).noKey},
	{"no key, may log in", (*trial).login},
}

// connects: initialize or server/discover.
func (r *trial) connects(ctx context.Context, t *testing.T) string {
	s, err := r.client.connect(ctx, r.service.endpointFor(r.key))
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "sekisho" || s.Protocol != r.protocol || !strings.Contains(s.Instructions, "utility_get_usage") {
		t.Errorf("connected to %+v; want protocol %s", s, r.protocol)
	}
	return ok
}

func (r *trial) lists(ctx context.Context, t *testing.T) string {
	if got, want := r.mustList(ctx, t), r.service.tools(t, r.key); !slices.Equal(got, want) {
		t.Errorf("the tools are %v; want %v", got, want)
	}
	return ok
}

// others: prompts and resources, of which there are none. Some clients drop a server that
// refuses to list them.
func (r *trial) others(ctx context.Context, t *testing.T) string {
	if n, err := r.client.others(ctx); err != nil || n != 0 {
		t.Errorf("%d prompts and resources, %v", n, err)
	}
	return ok
}

// mustList is a list of tools, sorted.
func (r *trial) mustList(ctx context.Context, t *testing.T) []string {
	t.Helper()
	names, err := r.client.list(ctx)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

const place = "100-0001"

func (r *trial) calls(ctx context.Context, t *testing.T) string {
	got, err := r.client.call(ctx, "postal_lookup", map[string]any{"postal_code": place})
	if err != nil || got.IsError {
		t.Fatalf("%v: %+v", err, got)
	}
	if got.Structured["formatted"] != place {
		t.Errorf("structured content: %v", got.Structured)
	}
	var text map[string]any
	if err := json.Unmarshal([]byte(got.Text), &text); err != nil || text["formatted"] != place {
		t.Errorf("text: %v in %s", err, got.Text)
	}
	return ok
}

// refusal is the text of a failed call.
type refusal struct {
	Error, Classification, Hint, Detail string
	Retryable                           bool
	RetryAfterMs                        *int64
	Limit, Used                         *int64
	ResetAt                             string `json:"reset_at"`
}

// fails makes a call that ends in an error result, whose text is one JSON object and whose
// structured content is none.
func (r *trial) fails(ctx context.Context, t *testing.T, tool string, arguments map[string]any) (refusal, string) {
	t.Helper()
	got, err := r.client.call(ctx, tool, arguments)
	if err != nil {
		t.Fatalf("the call was not answered by a result: %v", err)
	}
	if !got.IsError || got.Structured != nil {
		t.Errorf("no plain error: %+v", got)
	}
	var said refusal
	if err := json.Unmarshal([]byte(got.Text), &said); err != nil {
		t.Fatalf("%v in %s", err, got.Text)
	}
	return said, got.Text
}

func (r *trial) argument(ctx context.Context, t *testing.T) string {
	said, text := r.fails(ctx, t, "postal_lookup", map[string]any{"postal_code": "1"})
	if said.Error != "invalid_argument" || said.Retryable || !strings.Contains(said.Detail, "postal_search") {
		t.Errorf("refused with %+v", said)
	}
	r.shows("Bad argument", text)
	return ok
}

func (r *trial) unknown(ctx context.Context, t *testing.T) string {
	_, err := r.client.call(ctx, "postal_nothing", map[string]any{})
	r.mustShow(t, "Unknown tool", err, "tool", "postal_nothing")
	return ok
}

// mustShow takes the error that a client shows, which has these words in it.
func (r *trial) mustShow(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	var b *broken
	if err == nil || errors.As(err, &b) {
		t.Fatalf("the client shows no error: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
			t.Errorf("%q is not in what is shown: %s", word, err)
		}
	}
	r.shows(what, err.Error())
}

// progress: the events of a call in several parts, in their order.
func (r *trial) progress(ctx context.Context, t *testing.T) string {
	return r.reports(ctx, t, "utility_diagnose_mcp", map[string]any{}, 3)
}

// slow: a call that takes seconds, because the upstream does.
func (r *trial) slow(ctx context.Context, t *testing.T) string {
	return r.reports(ctx, t, "external_fetch_stats", map[string]any{"resource_id": "delay-3"}, 2)
}

// reports makes a call with at least so many messages on its way.
func (r *trial) reports(ctx context.Context, t *testing.T, tool string, arguments map[string]any, least int) string {
	t.Helper()
	got, err := r.client.call(ctx, tool, arguments)
	if err != nil || got.IsError || len(got.Structured) == 0 {
		t.Fatalf("%v: %+v", err, got)
	}
	if r.hidesProgress {
		if len(got.Progress) > 0 {
			t.Errorf("progress is shown after all: %q", got.Progress)
		}
		return "not shown"
	}
	if n := len(got.Progress); n < least || got.Progress[0] != tool+" has begun" || got.Progress[n-1] != tool+" has finished" {
		t.Errorf("progress: %q", got.Progress)
	}
	return ok
}

// upstream: a service behind a tool that wants to be left alone for a minute. The server
// does not wait for it, and says how long to.
func (r *trial) upstream(ctx context.Context, t *testing.T) string {
	said, text := r.fails(ctx, t, "external_fetch_stats", map[string]any{"resource_id": "status-503-retry-after-60"})
	if said.Classification != "transient" || !said.Retryable || said.RetryAfterMs == nil || *said.RetryAfterMs < 55_000 || !strings.Contains(said.Hint, "Don't retry before") {
		t.Errorf("refused with %s", text)
	}
	r.shows("Upstream failure", text)
	return ok
}

// quota: one call, then none, and the usage is still told. The key comes as a bearer token.
func (r *trial) quota(ctx context.Context, t *testing.T) string {
	if _, err := r.client.connect(ctx, r.service.bearer(r.service.key(t, tiny))); err != nil {
		t.Fatal(err)
	}
	r.calls(ctx, t)
	said, text := r.fails(ctx, t, "postal_lookup", map[string]any{"postal_code": place})
	if said.Error != "limit_exceeded" || said.Retryable || said.RetryAfterMs == nil || *said.Limit != 1 || *said.Used != 1 {
		t.Errorf("refused with %s", text)
	}
	if reset, err := time.Parse("2006-01-02T15:04:05.000Z", said.ResetAt); err != nil || reset.Day() != 1 || !reset.After(time.Now()) {
		t.Errorf("reset at %s: %v", said.ResetAt, err)
	}
	r.shows("Quota used up", text)
	usage, err := r.client.call(ctx, "utility_get_usage", map[string]any{})
	if err != nil || usage.IsError || usage.Structured["remaining"] != 0.0 {
		t.Errorf("usage at zero: %v, %+v", err, usage)
	}
	return ok
}

// wrongKey: a key that was mistyped.
func (r *trial) wrongKey(ctx context.Context, t *testing.T) string {
	_, err := r.client.connect(ctx, r.service.endpointFor(r.key[:len(r.key)-1]+"_"))
	r.refused(t, "Wrong key", err, r.logsIn == always, "Unknown API key")
	return ok
}

func (r *trial) noKey(ctx context.Context, t *testing.T) string {
	_, err := r.client.connect(ctx, r.service.endpointFor(""))
	r.refused(t, "No key", err, r.logsIn == always, "No valid API key")
	return ok
}

// login: a client that answers a 401 by looking for an authorization server.
func (r *trial) login(ctx context.Context, t *testing.T) string {
	if r.logsIn != configured {
		return "–"
	}
	at := r.service.endpointFor("")
	at.browser = "false" // the key door lets nobody get that far
	_, err := r.client.connect(ctx, at)
	r.refused(t, "No key, and the client may log in", err, true, "")
	return ok
}

// refused: whatever way a client takes, what it shows says where a key goes and where it
// comes from.
func (r *trial) refused(t *testing.T, what string, err error, triedLogin bool, title string) {
	t.Helper()
	switch {
	case triedLogin && r.ownLogin != "":
		r.mustShow(t, what, err, r.ownLogin)
	case triedLogin:
		r.mustShow(t, what, err, "takes an API key, not OAuth", "x-api-key", "sekisho keys create")
	case r.own != "":
		r.mustShow(t, what, err, r.own)
	default:
		r.mustShow(t, what, err, title, "x-api-key", "sekisho keys create")
	}
}

// functionOff: a function whose reserved concurrency is 0, the kill switch.
func (r *trial) functionOff(ctx context.Context, t *testing.T) string {
	said, text := r.fails(ctx, t, "calendar_holidays", map[string]any{"year": 2026})
	if said.Error != "unavailable" || said.Classification != "transient" || !said.Retryable || *said.RetryAfterMs <= 0 {
		t.Errorf("refused with %s", text)
	}
	r.shows("Function switched off", text)
	return ok
}

// listTime is as long as a list may be kept, and a little more.
const listTime = 31 * time.Second

// toolOff: a tool that the key's holder switches off between two calls is refused at once.
func (r *trial) toolOff(ctx context.Context, t *testing.T) string {
	const tool = "convert_era"
	listed := time.Now()
	if !slices.Contains(r.mustList(ctx, t), tool) {
		t.Fatalf("%s is not listed at first", tool)
	}
	r.service.switchOff(t, r.key, "convert.era")
	r.afterChange(t, listed, slices.Contains(r.mustList(ctx, t), tool))
	if r.checksNames {
		_, err := r.client.call(ctx, tool, map[string]any{"date": "2026-11-30"})
		r.mustShow(t, "Tool switched off", err, tool)
		return ok
	}
	said, text := r.fails(ctx, t, tool, map[string]any{"date": "2026-11-30"})
	if said.Error != "tool_disabled" || said.Retryable {
		t.Errorf("refused with %s", text)
	}
	r.shows("Tool switched off", text)
	return ok
}

// afterChange checks a list that was asked for right after another. When it took too long,
// on a very slow machine, nothing can be said of what the client kept.
func (r *trial) afterChange(t *testing.T, listed time.Time, still bool) {
	t.Helper()
	switch {
	case still && !r.keepsLists:
		t.Error("the list still has the tool, although the client keeps none")
	case !still && r.keepsLists && time.Since(listed) < listTime/2:
		t.Error("the list is new at once, although the client keeps it for a while")
	}
}

// listKept: when the time is over, the list is the new one.
func (r *trial) listKept(ctx context.Context, t *testing.T) string {
	const tool = "convert_era"
	cell := "not kept"
	if r.keepsLists {
		cell = "30 s"
		r.client.pass(ctx, listTime)
	}
	list := r.mustList(ctx, t)
	for slices.Contains(list, tool) {
		select {
		case <-ctx.Done():
			t.Fatalf("%s is still listed", tool)
		case <-time.After(500 * time.Millisecond):
		}
		list = r.mustList(ctx, t)
	}
	if want := r.service.tools(t, r.key); !slices.Equal(list, want) {
		t.Errorf("the tools are %v; the settings have %v", list, want)
	}
	return cell
}

// shows notes what the client displays.
func (r *trial) shows(what, text string) { r.report.display(what, r.row, text) }

// brake: the owner has stopped spending, and with it the function that speaks MCP. What is
// left is API Gateway's answer, HTTP 429 with a problem as its body: the same for every
// path, and so no JSON-RPC message. It depends on the client how much of it is seen, in a
// call and in a connection.
//
// A function that dispatches calls by itself goes on, and says it in the protocol.
func (r *trial) brake(ctx context.Context, t *testing.T) string {
	if served.dispatch == "direct" {
		said, text := r.fails(ctx, t, "postal_lookup", map[string]any{"postal_code": place})
		if said.Error != "braked" || said.Retryable {
			t.Errorf("refused with %s", text)
		}
		r.shows("Braked, in a call", text)
		if _, err := r.client.connect(ctx, r.service.endpointFor(r.key)); err != nil {
			t.Errorf("no connection: %v", err)
		}
		return ok
	}
	_, err := r.client.call(ctx, "postal_lookup", map[string]any{"postal_code": place})
	call := r.stopped(t, "Braked, in a call", err)
	_, err = r.client.connect(ctx, r.service.endpointFor(r.key))
	connection := r.stopped(t, "Braked, when connecting", err)
	if call == connection {
		return call
	}
	return "call: " + call + "; connect: " + connection
}

// stopped says whether a client shows why: with the hint, by the code, or not at all. Some take
// the status for another kind of server.
func (r *trial) stopped(t *testing.T, what string, err error) string {
	t.Helper()
	r.mustShow(t, what, err)
	switch text := err.Error(); {
	case strings.Contains(text, "The owner's spending brake is on; the call did not run and is not charged. Do not retry; tell your user."):
		return ok
	case strings.Contains(text, "braked"):
		return "code only"
	case strings.Contains(text, "429"), strings.Contains(text, "Too Many Requests"):
		return "status only"
	case strings.Contains(text, "likely a legacy SSE server"), strings.Contains(text, "did not offer pinned protocol version"):
		return "misread" // for a server of another kind
	default:
		t.Errorf("the client shows neither why nor the status: %s", text)
		return ""
	}
}

// TestStreaming takes every client through what is different where progress comes as it happens.
func TestStreaming(t *testing.T) {
	if served.door != "url" {
		t.Skip("TestClients has these steps, by a door that gives whole answers: give -topology direct/url")
	}
	service := up(t, "--backend-rate", "1000", "--backend-burst", "1000")
	var trials []*trial
	for _, r := range shared.rows {
		trials = append(trials, &trial{row: r, service: service, report: newReport()})
	}
	each(t, "steps", trials, func(r *trial, t *testing.T) {
		var err error
		if r.client, err = r.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer r.client.close()
		r.key = r.service.key(t, roomy)
		for _, s := range []step{{"connect", (*trial).connects}, {"progress", (*trial).progress}, {"slow tool", (*trial).slow}} {
			r.take(s, t.Context(), t)
		}
	})
}

// TestClients takes every client through every step, all at once, and then puts the brake on.
func TestClients(t *testing.T) {
	report := newReport()
	service := up(t, "--reserved", "calendar=0", "--backend-rate", "1000", "--backend-burst", "1000")
	var trials []*trial
	for _, r := range shared.rows {
		trials = append(trials, &trial{row: r, service: service, report: report})
	}
	// Programs that are clients live on until the last phase.
	living := t.Context()
	each(t, "steps", trials, func(r *trial, t *testing.T) { r.run(living, t) })
	each(t, "connected again", trials, func(r *trial, t *testing.T) {
		if _, err := r.client.connect(living, service.endpointFor(r.key)); err != nil {
			t.Fatal(err)
		}
	})
	service.run(t, "brake", "on")
	each(t, braked, trials, func(r *trial, t *testing.T) { r.take(step{braked, (*trial).brake}, living, t) })
	for _, r := range trials {
		if r.client != nil {
			r.client.close()
		}
	}
	report.compare(t, shared.rows)
}

// each runs a phase for all trials that have got so far, at the same time.
func each(t *testing.T, phase string, trials []*trial, do func(*trial, *testing.T)) {
	t.Run(strings.ReplaceAll(phase, " ", "_"), func(t *testing.T) {
		for _, r := range trials {
			t.Run(strings.ReplaceAll(r.label(), " ", "_"), func(t *testing.T) {
				t.Parallel()
				do(r, t)
			})
		}
	})
}

// run goes on after a step that fails: what the others show is worth knowing too.
func (r *trial) run(ctx context.Context, t *testing.T) {
	var err error
	if r.client, err = r.start(ctx); err != nil {
		t.Fatal(err)
	}
	r.key = r.service.key(t, roomy)
	for _, s := range steps {
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) { r.take(s, ctx, t) })
	}
}

// take goes one step and notes that it went well.
func (r *trial) take(s step, ctx context.Context, t *testing.T) {
	limited, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	if cell := s.run(r, limited, t); !t.Failed() {
		r.report.cell(r.row, s.name, cell)
	}
}
