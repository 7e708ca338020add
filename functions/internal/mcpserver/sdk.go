package mcpserver

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/problem"
)

// listTTL is how long a client may keep a list, in milliseconds: no longer than an instance
// keeps what it knows of a key, so that a tool switched off is off for everyone within a
// minute.
const listTTL = 30_000

// instructions are what an agent reads before its first call.
const instructions = "Calls of counted tools take units from the monthly limit of the API key; failed calls are given back. " +
	"A failed call is one JSON object: obey retryable, retryAfterMs and hint, and do not retry otherwise. " +
	"utility.get_usage shows what is left and utility.diagnose_mcp checks the connection; both are free and answer at zero quota."

// searchInstructions follow where lists name a few tools. Those of a key with most tools off may
// still name all.
const searchInstructions = " If the list has utility.find_tools, it names a few tools of many: find the others with it, and call them through utility.call_tool."

// dispatched is the one tool that the SDK knows. Lists and calls of ours take its place, so that
// a large contract costs no more at start than what its lists name.
const dispatched = "dispatched"

// newSDKServer makes the one server of the process, for lists of this mode. It declares tools and
// nothing else.
func (s *server) newSDKServer(mode ListMode) *mcp.Server {
	text := instructions
	if mode == ListSearch {
		text += searchInstructions
	}
	sdk := mcp.NewServer(s.implementation, &mcp.ServerOptions{
		Instructions:              s.tools.names.Replace(text),
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SupportedProtocolVersions: versions,
		// The list differs by key, so nobody but the caller may keep it; the SDK would say
		// "public".
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope, c.TTLMs = "private", listTTL
		},
	})
	sdk.AddTool(&mcp.Tool{Name: dispatched, InputSchema: json.RawMessage(`{"type":"object"}`)}, s.call)
	// The first is the outermost.
	sdk.AddReceivingMiddleware(s.recovering, s.dispatching)
	return sdk
}

// recovering turns a panic into an answer: in the SDK's goroutine it would end the process.
func (s *server) recovering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		x := exchangeOf(ctx)
		defer func() {
			if v := recover(); v != nil {
				logPanic(s.Log, v, debug.Stack())
				result, err = nil, s.afterPanic(x)
			}
		}()
		result, err = next(ctx, method, r)
		if err != nil {
			x.setOutcome("rpc_error")
		} else if !x.ended() {
			x.setOutcome(succeeded)
		}
		return result, err
	}
}

func (s *server) afterPanic(x *exchange) error {
	p := s.unclear(x, problem.Internal, "")
	x.setOutcome(string(p.Code))
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: sentence(p), Data: p.AgentJSON()}
}

// dispatching puts the tools of the key in the place of the SDK's one.
func (s *server) dispatching(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		x := exchangeOf(ctx)
		switch method {
		case "tools/call":
			if params, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok {
				if err := s.checkTool(x, params); err != nil {
					return nil, err
				}
			}
		case "tools/list":
			result, err := next(ctx, method, r)
			if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
				err = s.fillList(x, list)
			}
			return result, err
		}
		return next(ctx, method, r)
	}
}

// fillList keeps the tools that the conformance suites add.
func (s *server) fillList(x *exchange, result *mcp.ListToolsResult) error {
	list, _, err := s.listFor(x.key.Settings)
	if err != nil {
		return err
	}
	ours, err := definitions(list)
	if err != nil {
		return err
	}
	added := slices.DeleteFunc(result.Tools, func(t *mcp.Tool) bool { return t.Name == dispatched })
	result.Tools = append(ours, added...)
	return nil
}

func definitions(list []*tool) ([]*mcp.Tool, error) {
	all := make([]*mcp.Tool, 0, len(list))
	for _, t := range list {
		e, err := t.entry()
		if err != nil {
			return nil, err
		}
		all = append(all, e.definition)
	}
	return all, nil
}

// allows says whether the key may use a tool.
func (s *server) allows(x *exchange, t *tool) bool { return x.key.Settings.Allows(t.name, t.category) }

// checkTool refuses unknown tools, and notes which of the others is called. A tool that is off is
// refused by its handler: a result that does not come through the SDK lacks the resultType that
// clients of 2026-07-28 insist on.
func (s *server) checkTool(x *exchange, params *mcp.CallToolParamsRaw) error {
	t := s.tools.byName[params.Name]
	if t == nil {
		if wait, ok := s.Free.Allow(x.key.Meter, s.Now()); !ok {
			p := problem.Denial(problem.Throttled, nil, wait)
			return &jsonrpc.Error{Code: int64(p.Status), Message: sentence(p), Data: p.AgentJSON()}
		}
		p := s.unknownTool(x, params.Name)
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: p.Detail, Data: p.AgentJSON()}
	}
	x.called = t
	x.setTool(t.name)
	if t.schemas != nil { // those of the conformance suites have none
		params.Name = dispatched
	}
	return nil
}

// progress reports what a call is doing to a caller that asked for it. Without a session, which is
// where no stream is asked for, it reports nothing.
type progress struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   json.RawMessage
	tool    string
	at      float64
	total   float64
}

// of counts one step for a call, and one for each call that a composite makes. Without a token
// nothing is reported. The token is the guard's, which is bounded: where a message has two, the SDK
// may read the other one.
func (p *progress) of(t *tool, token json.RawMessage) {
	p.token, p.tool, p.total = token, t.listed, 1
	if t.composite != nil {
		p.total += float64(len(t.composite.Calls))
	}
}

func (p *progress) started() { p.report(p.tool + " has begun") }

// step is one more part done; not safe for concurrent use.
func (p *progress) step(what string) {
	p.at++
	p.report(what)
}

// done is reported on success and failure alike: the result says which it was.
func (p *progress) done() {
	p.at = p.total
	p.report(p.tool + " has finished")
}

func (p *progress) report(text string) {
	if p.token == nil || p.session == nil {
		return
	}
	// Progress is a courtesy: whether it arrives changes nothing.
	_ = p.session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.at, Total: p.total, Message: text,
	})
}
