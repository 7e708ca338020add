//go:build interop

//lint:file-ignore SA1019 the suites still test sampling, roots and logging

package conformance

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Since 2026-07-28 a tool that needs something of the client ends its call with questions,
// and is called again with the answers (SEP-2322). What it must remember travels with the
// client as requestState.

func addRoundTripTools(server *mcp.Server) {
	state := newSealer()
	for name, handle := range map[string]mcp.ToolHandler{
		"elicitation":     askName,
		"sampling":        askModel,
		"list_roots":      askRoots,
		"multiple_inputs": askAll,
		"capabilities":    askWhatTheClientCan,
		"request_state":   state.confirm,
		"tampered_state":  state.confirm,
		"multi_round":     state.twoRounds,
	} {
		addTool(server, "test_input_required_result_"+name, handle)
	}
}

func ask(questions mcp.InputRequestMap, state string) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: questions, RequestState: state}
}

func nameForm() *mcp.ElicitParams {
	return form("What is your name?", `{"name":{"type":"string"}}`, "name")
}

// filled is a member of a form that the user filled in; empty for anything else.
func filled(answers mcp.InputResponseMap, key, member string) string {
	answer, ok := answers[key].(*mcp.ElicitResult)
	if !ok || answer.Action != "accept" {
		return ""
	}
	value, _ := answer.Content[member].(string)
	return value
}

// said is the text of a sampling answer.
func said(answers mcp.InputResponseMap, key string) (string, bool) {
	answer, ok := answers[key].(*mcp.CreateMessageWithToolsResult)
	if !ok {
		return "", false
	}
	for _, c := range answer.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

func roots(answers mcp.InputResponseMap) (string, bool) {
	answer, ok := answers["client_roots"].(*mcp.ListRootsResult)
	if !ok {
		return "", false
	}
	var uris []string
	for _, root := range answer.Roots {
		uris = append(uris, root.URI)
	}
	return strings.Join(uris, ", "), true
}

func askName(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if name := filled(r.Params.InputResponses, "user_name", "name"); name != "" {
		return result(text("Hello, %s!", name)), nil
	}
	return ask(mcp.InputRequestMap{"user_name": nameForm()}, ""), nil
}

func askModel(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer, ok := said(r.Params.InputResponses, "capital_question"); ok {
		return result(text("The model said: %s", answer)), nil
	}
	return ask(mcp.InputRequestMap{"capital_question": sampling("What is the capital of France?")}, ""), nil
}

func askRoots(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if uris, ok := roots(r.Params.InputResponses); ok {
		return result(text("Roots: %s", uris)), nil
	}
	return ask(mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}, ""), nil
}

func askAll(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	answers := r.Params.InputResponses
	name := filled(answers, "user_name", "name")
	greeting, greeted := said(answers, "greeting")
	uris, rooted := roots(answers)
	if name != "" && greeted && rooted {
		return result(text("%s, %s! Roots: %s", greeting, name, uris)), nil
	}
	return ask(mcp.InputRequestMap{
		"user_name": nameForm(), "greeting": sampling("Generate a greeting"), "client_roots": &mcp.ListRootsParams{},
	}, "all"), nil
}

// askWhatTheClientCan asks no question that the client has not said it can answer.
func askWhatTheClientCan(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	questions := mcp.InputRequestMap{}
	if can := r.ClientCapabilities(); can != nil {
		if can.Elicitation != nil {
			questions["user_name"] = nameForm()
		}
		if can.Sampling != nil {
			questions["greeting"] = sampling("Generate a greeting")
		}
		if can.RootsV2 != nil {
			questions["client_roots"] = &mcp.ListRootsParams{}
		}
	}
	if len(r.Params.InputResponses) > 0 || len(questions) == 0 {
		return result(text("Nothing more to ask.")), nil
	}
	return ask(questions, ""), nil
}

// sealer makes states that nobody else can.
type sealer struct{ key []byte }

func newSealer() *sealer {
	s := &sealer{key: make([]byte, 32)}
	_, _ = rand.Read(s.key) // never fails
	return s
}

func (s *sealer) seal(state string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(state))
	return state + "|" + hex.EncodeToString(mac.Sum(nil))
}

// open returns what was sealed. An empty state is a first call's.
func (s *sealer) open(sealed string) (string, error) {
	state, _, _ := strings.Cut(sealed, "|")
	if sealed != "" && !hmac.Equal([]byte(sealed), []byte(s.seal(state))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not what this server gave out."}
	}
	return state, nil
}

func (s *sealer) confirm(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	state, err := s.open(r.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if answer, ok := r.Params.InputResponses["confirm"].(*mcp.ElicitResult); ok && answer.Action == "accept" && state == "asked" {
		return result(text("state-ok")), nil
	}
	return ask(mcp.InputRequestMap{"confirm": form("Please confirm", `{"ok":{"type":"boolean"}}`, "ok")}, s.seal("asked")), nil
}

func (s *sealer) twoRounds(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	state, err := s.open(r.Params.RequestState)
	if err != nil {
		return nil, err
	}
	answers := r.Params.InputResponses
	name, second := strings.CutPrefix(state, "2 ")
	switch {
	case second:
		return result(text("%s likes %s.", name, filled(answers, "step2", "color"))), nil
	case state == "1":
		return ask(mcp.InputRequestMap{
			"step2": form("Step 2: What is your favorite color?", `{"color":{"type":"string"}}`, "color"),
		}, s.seal("2 "+filled(answers, "step1", "name"))), nil
	}
	return ask(mcp.InputRequestMap{
		"step1": form("Step 1: What is your name?", `{"name":{"type":"string"}}`, "name"),
	}, s.seal("1")), nil
}
