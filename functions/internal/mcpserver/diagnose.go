package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"go.uber.org/zap"

	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
)

// diagnosis is the answer of utility.diagnose_mcp.
type diagnosis struct {
	OK     bool    `json:"ok"`
	Checks []check `json:"checks"`
	Advice string  `json:"advice"`
}

// check is one link of the chain.
type check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Status is the HTTP status, nil without an answer.
	Status *int   `json:"status"`
	Detail string `json:"detail"`

	advice string
}

// The operations that the diagnosis calls, all of them exempt.
const (
	opHealth   = "system.health"
	opUsage    = "utility.get_usage"
	opSettings = "account.get_tool_settings"
)

// diagnose calls the composite's operations at the same time, and says what they found. It
// never fails: what does not answer is what it reports.
func (s *server) diagnose(ctx context.Context, x *exchange, t *tool, _ map[string]any, p *progress) (json.RawMessage, *problem.Problem) {
	answers := s.callAll(ctx, x, t.composite.Calls, p)
	d := diagnosis{OK: true, Checks: []check{
		s.dispatch.endpoint(ctx, answers),
		checkKey(x, answers[opUsage], answers[opSettings]),
		checkUsage(answers[opUsage]),
		checkSettings(answers[opSettings]),
		s.checkListing(x),
	}}
	for _, k := range d.Checks {
		if !k.OK && d.OK {
			d.OK, d.Advice = false, k.advice // the first fault explains those after it
		}
	}
	if d.OK {
		d.Advice = "Everything answers. If a tool fails all the same, act on retryable and hint of its error."
	}
	encoded, _ := reply.JSON(d) // strings, numbers and booleans always encode
	return json.RawMessage(s.tools.names.Replace(string(encoded))), nil
}

func (s *server) callAll(ctx context.Context, x *exchange, ids []string, p *progress) map[string]restAnswer {
	answers := make(map[string]restAnswer, len(ids))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, id := range ids {
		op := s.API.Operation(id)
		if op.Function == "" && s.Direct != nil {
			continue // the gateway's own answer says nothing of calls that don't pass it
		}
		wg.Go(func() {
			defer s.survive()
			answer := s.dispatch.call(ctx, x, op, nil)
			mu.Lock()
			defer mu.Unlock()
			answers[id] = answer
			p.step(s.tools.names.Replace(id) + " was called")
		})
	}
	wg.Wait()
	return answers
}

func newCheck(name string, a restAnswer) check {
	k := check{Name: name, OK: a.body != nil}
	if a.status != 0 {
		k.Status = &a.status
	}
	if a.body == nil {
		if a.problem == nil {
			a.problem = problem.New(problem.Internal, "")
		}
		k.Detail = fmt.Sprintf("%s: %s", a.problem.Code, a.problem.Title)
		k.advice = a.problem.Hint
	}
	return k
}

// checkKey judges the key by what others said of it: this function has accepted it already, but may
// remember a key that was revoked in the last half minute.
func checkKey(x *exchange, answers ...restAnswer) check {
	worst := answers[0]
	for _, a := range answers {
		if a.status == http.StatusUnauthorized {
			k := newCheck("key", a)
			k.Detail = "The REST API refuses this API key."
			return k
		}
		if a.body != nil {
			worst = a
		}
	}
	k := newCheck("key", worst)
	if k.OK {
		k.Detail = "The API key is active: " + x.key.ID + "." + x.signedIn.detail()
	}
	return k
}

func checkUsage(a restAnswer) check {
	k := newCheck("usage", a)
	if !k.OK {
		return k
	}
	var u struct {
		Plan         string `json:"plan"`
		MonthlyLimit *int64 `json:"monthly_limit"`
		MonthlyUsed  int64  `json:"monthly_used"`
		Remaining    *int64 `json:"remaining"`
		ResetAt      string `json:"reset_at"`
	}
	if err := json.Unmarshal(a.body, &u); err != nil {
		k.OK, k.Detail = false, "The usage could not be read."
		k.advice = problem.New(problem.Internal, "").Hint
		return k
	}
	if u.MonthlyLimit == nil || u.Remaining == nil {
		k.Detail = fmt.Sprintf("Plan %s without a limit; %d used this month.", u.Plan, u.MonthlyUsed)
		return k
	}
	k.Detail = fmt.Sprintf("Plan %s: %d of %d used, %d left until %s.", u.Plan, u.MonthlyUsed, *u.MonthlyLimit, *u.Remaining, u.ResetAt)
	if *u.Remaining <= 0 {
		k.OK = false
		k.advice = "The monthly limit is used up: counted tools are refused until " + u.ResetAt + ". Do not retry before then; tell your user. Free tools still answer."
	}
	return k
}

func checkSettings(a restAnswer) check {
	k := newCheck("settings", a)
	if !k.OK {
		return k
	}
	var set struct {
		Tools []struct {
			Name    string `json:"name"`
			Enabled bool   `json:"enabled"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(a.body, &set); err != nil {
		k.OK, k.Detail = false, "The tool settings could not be read."
		k.advice = problem.New(problem.Internal, "").Hint
		return k
	}
	var off []string
	for _, t := range set.Tools {
		if !t.Enabled {
			off = append(off, t.Name)
		}
	}
	k.Detail = fmt.Sprintf("Tools on: %d; switched off: none.", len(set.Tools))
	if len(off) > 0 {
		k.Detail = fmt.Sprintf("Tools on: %d; switched off: %s.", len(set.Tools)-len(off), some(off))
	}
	return k
}

// mostNamed are the names that a detail has.
const mostNamed = 20

// some names the first, and counts the rest.
func some(names []string) string {
	if len(names) <= mostNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNamed], ", "), len(names)-mostNamed)
}

// checkListing says which tools the key's list names, and why.
func (s *server) checkListing(x *exchange) check {
	list, mode, err := s.listFor(x.key.Settings)
	if err != nil {
		s.Log.Error("the list of tools could not be made", zap.Error(err))
		internal := problem.New(problem.Internal, "")
		return check{Name: "listing", Detail: "The list of tools could not be made.", advice: internal.Hint}
	}
	k := check{Name: "listing", OK: true}
	switch {
	case mode == ListAll:
		k.Detail = fmt.Sprintf("tools/list names all %d tools of this key, but not those that find others.", len(list))
	case s.Listing == ListAuto:
		k.Detail = fmt.Sprintf("All tools of this key would take more than %d tokens of a model, or more bytes than an answer may have, so tools/list names %d: utility.find_tools finds the others.", s.ListingTokens, len(list))
	default:
		k.Detail = fmt.Sprintf("As this server is configured, tools/list names %d tools: utility.find_tools finds the others.", len(list))
	}
	return k
}
