package mcpserver

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/problem"
)

// listTTL is how long a client may keep what it was told, in milliseconds: no longer than
// an instance keeps what it knows of a key, so that a tool switched off is off for everyone
// within a minute.
const listTTL = 30_000

// instructions are what an agent is told before its first call.
const instructions = "Calls of counted tools take units from the monthly limit of the API key; failed calls are given back. " +
	"A failed call is one JSON object: obey retryable, retryAfterMs and hint, and do not retry otherwise. " +
	"utility.get_usage shows what is left and utility.diagnose_mcp checks the connection; both are free and answer at zero quota."

// newSDKServer makes the one server of the process. It declares tools and nothing else.
func (s *server) newSDKServer() *mcp.Server {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "sekisho", Title: "Sekisho", Version: s.Version}, &mcp.ServerOptions{
		Instructions:              s.names.Replace(instructions),
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SupportedProtocolVersions: versions,
		// The list differs by key, so nobody but the caller may keep it; the SDK would say
		// "public".
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope, c.TTLMs = "private", listTTL
		},
	})
	for _, t := range s.tools.all {
		sdk.AddTool(t.definition, s.handler(t))
	}
	if s.Extend != nil {
		s.Extend(sdk)
	}
	// The first is the outermost.
	sdk.AddReceivingMiddleware(s.recovering, s.filtering)
	return sdk
}

// recovering turns a panic into an answer: in the SDK's goroutine it would end the process.
func (s *server) recovering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (result mcp.Result, err error) {
		c := callOf(ctx)
		defer func() {
			if v := recover(); v != nil {
				logPanic(s.Log, v, debug.Stack())
				result, err = nil, s.afterPanic(c)
			}
		}()
		result, err = next(ctx, method, r)
		if err != nil {
			c.setOutcome("rpc_error")
		} else if method != "tools/call" || c.outcome() == "rejected" {
			c.setOutcome("ok")
		}
		return result, err
	}
}

func (s *server) afterPanic(c *call) error {
	p := problem.New(problem.Internal, "")
	c.setOutcome(string(p.Code))
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: sentence(p), Data: p.AgentJSON()}
}

// filtering applies the tool settings of the key, and both forms of a tool's name.
func (s *server) filtering(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		c := callOf(ctx)
		switch method {
		case "tools/call":
			if params, ok := r.GetParams().(*mcp.CallToolParamsRaw); ok {
				if err := s.checkTool(c, params); err != nil {
					return nil, err
				}
			}
		case "tools/list":
			result, err := next(ctx, method, r)
			if list, ok := result.(*mcp.ListToolsResult); ok && err == nil {
				list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool { return !s.allows(c, t.Name) })
			}
			return result, err
		}
		return next(ctx, method, r)
	}
}

// allows says whether the key may use a tool; one of Extend's always.
func (s *server) allows(c *call, name string) bool {
	t := s.tools.byName[name]
	return t == nil || c.key.Settings.Allows(t.name, t.category)
}

// checkTool refuses what is no tool, and gives the others the name by which the SDK knows
// them. A tool that is off is refused by its handler: a result that does not come through the
// SDK lacks the resultType that clients of 2026-07-28 insist on.
func (s *server) checkTool(c *call, params *mcp.CallToolParamsRaw) error {
	t := s.tools.byName[params.Name]
	if t == nil {
		if s.Extend != nil {
			return nil // the SDK knows whether it is one of Extend's
		}
		p := problem.New(problem.NotFound, "There is no such tool. tools/list names the tools of this key.")
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("Unknown tool %.100q. tools/list names the tools of this key.", params.Name), Data: p.AgentJSON()}
	}
	params.Name = t.listed
	c.setTool(t.name)
	return nil
}
