package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
)

// called is the result of a tool call.
type called struct {
	Meta              mcp.Meta        `json:"_meta,omitempty"`
	Content           [1]textContent  `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
	ResultType        string          `json:"resultType,omitempty"`
}

type textContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func newCalled(text string) *called { return &called{Content: [1]textContent{{"text", text}}} }

// call is the SDK's handler of every tool, which adds to a result what the protocol version asks for.
func (s *server) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := s.serveCall(exchangeOf(ctx), r.Params.Arguments, &progress{ctx: ctx, session: r.Session})
	result := &mcp.CallToolResult{Meta: c.Meta, Content: []mcp.Content{&mcp.TextContent{Text: c.Content[0].Text}}, IsError: c.IsError}
	if c.StructuredContent != nil {
		result.StructuredContent = c.StructuredContent
	}
	return result, nil
}

// serveCall calls the tool that the exchange is about, and gives a result whatever happens.
func (s *server) serveCall(x *exchange, arguments json.RawMessage, p *progress) (c *called) {
	defer func() {
		if v := recover(); v != nil {
			logPanic(s.Log, v, debug.Stack())
			c = s.fail(x, s.unclear(x, problem.Internal, ""))
		}
	}()
	c = s.serveTool(x, arguments, p)
	c.Meta = s.quotaMeta(x)
	return c
}

func (s *server) serveTool(x *exchange, arguments json.RawMessage, p *progress) *called {
	t, args, refused := s.admit(x, x.called, arguments)
	if refused != nil || t.units() == 0 {
		if wait, ok := s.Free.Allow(x.key.Meter, s.Now()); !ok {
			refused = problem.Denial(problem.Throttled, nil, wait)
		}
	}
	if refused != nil {
		return s.fail(x, refused)
	}
	until, err := deadline(x.context(), s.API.Function("mcp").Timeout, s.dispatch.reserve())
	if err != nil {
		return s.fail(x, problem.New(problem.Timeout, "No time was left to begin; the call did not run."))
	}
	p.of(t, x.progressToken)
	limited, cancel := context.WithDeadline(x.context(), until)
	defer cancel()
	body, refused := s.run(limited, x, t, args, p)
	p.done()
	if refused != nil {
		return s.fail(x, refused)
	}
	x.setOutcome(succeeded)
	c := newCalled(string(body))
	c.StructuredContent = body
	return c
}

// admit reads the arguments of a call that the key may make. The tool that it returns is the one
// to call, which is another than t if that calls tools.
func (s *server) admit(x *exchange, t *tool, arguments json.RawMessage) (*tool, map[string]any, *problem.Problem) {
	if !s.allows(x, t) {
		return nil, nil, problem.New(problem.ToolDisabled, "")
	}
	args, err := decodeArguments(arguments)
	if err != nil {
		return nil, nil, invalidArgument(err)
	}
	if t.name == callTool {
		var refused *problem.Problem
		if t, args, refused = s.target(x, t, args); refused != nil {
			return nil, nil, refused
		}
		x.setTool(t.name) // from here on, it is as if it had been called directly
		if !s.allows(x, t) {
			return nil, nil, problem.New(problem.ToolDisabled, "")
		}
	}
	if err := t.validate(args); err != nil {
		return nil, nil, invalidArgument(err)
	}
	return t, args, nil
}

// validate checks the arguments before anything is called, so that a wrong call costs
// nothing and is answered at once.
func (t *tool) validate(args map[string]any) error {
	schemas, err := t.schemas()
	if err != nil {
		return err
	}
	return schemas.Validate(args)
}

// invalidArgument is Internal when the contract itself is broken.
func invalidArgument(err error) *problem.Problem {
	var wrong *contract.ArgumentError
	if !errors.As(err, &wrong) {
		return problem.From(err)
	}
	return problem.New(problem.InvalidArgument, wrong.Error())
}

// composite is what serves a composite tool; nil if nothing does.
func (s *server) composite(t *tool) func(context.Context, *exchange, *tool, map[string]any, *progress) (json.RawMessage, *problem.Problem) {
	switch t.name {
	case "utility.diagnose_mcp":
		return s.diagnose
	case "utility.find_tools":
		return s.find
	case "utility.describe_tool":
		return s.describe
	}
	return nil
}

func (s *server) run(ctx context.Context, x *exchange, t *tool, args map[string]any, p *progress) (json.RawMessage, *problem.Problem) {
	p.started()
	if t.composite != nil {
		return s.composite(t)(ctx, x, t, args, p)
	}
	answer := s.dispatch.call(ctx, x, t.operation, args)
	x.keepHeaders(answer.header)
	if answer.recorded {
		x.setRecorded(succeeded)
	}
	return answer.body, answer.problem
}

// fail makes an error result of a problem and notes it for the log.
func (s *server) fail(x *exchange, p *problem.Problem) *called {
	x.setOutcome(string(p.Code))
	return s.failed(p)
}

// failed is an error result: one text with one JSON object, which names tools as the list
// does. Structured content would have to fit the tool's output schema, and clients check
// that it does (modelcontextprotocol/typescript-sdk#1943).
func (s *server) failed(p *problem.Problem) *called {
	text := string(p.AgentJSON())
	if p.Answer == nil { // what a backend says stays as it is
		text = s.tools.names.Replace(text)
	}
	c := newCalled(text)
	c.IsError = true
	return c
}
