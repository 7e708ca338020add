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

// handler makes the SDK's handler of a tool. Its results, that of a panic too, go through the
// SDK, which adds what the protocol version asks for.
func (s *server) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (result *mcp.CallToolResult, _ error) {
		x := exchangeOf(ctx)
		defer func() {
			if v := recover(); v != nil {
				logPanic(s.Log, v, debug.Stack())
				result = s.fail(x, s.unclear(x, problem.Internal, ""))
			}
		}()
		result = s.serveTool(ctx, x, t, r)
		result.Meta = s.quotaMeta(x)
		return result, nil
	}
}

func (s *server) serveTool(ctx context.Context, x *exchange, t *tool, r *mcp.CallToolRequest) *mcp.CallToolResult {
	args, refused := s.admit(x, t, r.Params.Arguments)
	if refused != nil || t.free() {
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
	p := newProgress(ctx, r, t)
	limited, cancel := context.WithDeadline(x.context(), until)
	defer cancel()
	body, refused := s.run(limited, x, t, args, p)
	p.done()
	if refused != nil {
		return s.fail(x, refused)
	}
	x.setOutcome(succeeded)
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(body)}},
		StructuredContent: body,
	}
}

// admit reads the arguments of a call that the key may make.
func (s *server) admit(x *exchange, t *tool, arguments json.RawMessage) (map[string]any, *problem.Problem) {
	if !s.allows(x, t.name) {
		return nil, problem.New(problem.ToolDisabled, "")
	}
	args, err := decodeArguments(arguments)
	if err == nil {
		err = t.validate(args)
	}
	if err != nil {
		return nil, invalidArgument(err)
	}
	return args, nil
}

// free says that no call of the tool is counted.
func (t *tool) free() bool { return t.operation == nil || t.operation.Units == 0 }

// validate checks the arguments before anything is called, so that a wrong call costs
// nothing and is answered at once.
func (t *tool) validate(args map[string]any) error {
	if t.operation != nil {
		return t.operation.Validate(args)
	}
	if len(args) > 0 {
		return &contract.ArgumentError{Message: "this tool takes no arguments"}
	}
	return nil
}

// invalidArgument is Internal when the contract itself is broken.
func invalidArgument(err error) *problem.Problem {
	var wrong *contract.ArgumentError
	if !errors.As(err, &wrong) {
		return problem.From(err)
	}
	return problem.New(problem.InvalidArgument, wrong.Error())
}

func (s *server) run(ctx context.Context, x *exchange, t *tool, args map[string]any, p *progress) (json.RawMessage, *problem.Problem) {
	p.started()
	if t.composite != nil {
		return s.diagnose(ctx, x, t, p), nil
	}
	answer := s.dispatch.call(ctx, x, t.operation, args)
	x.keepHeaders(answer.header)
	return answer.body, answer.problem
}

// fail makes an error result of a problem and notes it for the log.
func (s *server) fail(x *exchange, p *problem.Problem) *mcp.CallToolResult {
	x.setOutcome(string(p.Code))
	return s.failed(p)
}

// failed is an error result: one text with one JSON object, which names tools as the list
// does. Structured content would have to fit the tool's output schema, and clients check
// that it does (modelcontextprotocol/typescript-sdk#1943).
func (s *server) failed(p *problem.Problem) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		IsError: true,
		Content: []mcp.Content{&mcp.TextContent{Text: s.names.Replace(string(p.AgentJSON()))}},
	}
}
