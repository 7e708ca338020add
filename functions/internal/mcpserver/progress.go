package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress tells a caller that asked for it what a call is doing. The events stand in the
// answer before the result; the answer itself goes out as one piece.
type progress struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	tool    string
	at      float64
	total   float64
}

// newProgress counts one step for a call, and one for each call that a composite makes.
// Without a progress token it tells nothing.
func newProgress(ctx context.Context, r *mcp.CallToolRequest, t *tool) *progress {
	p := &progress{ctx: ctx, session: r.Session, token: r.Params.GetProgressToken(), tool: t.listed, total: 1}
	if t.composite != nil {
		p.total += float64(len(t.composite.Calls))
	}
	return p
}

func (p *progress) started() { p.tell(p.tool + " has begun") }

// step is one more part done; not safe for concurrent use.
func (p *progress) step(what string) {
	p.at++
	p.tell(what)
}

// done is told on success and failure alike: the result says which it was.
func (p *progress) done() {
	p.at = p.total
	p.tell(p.tool + " has finished")
}

func (p *progress) tell(text string) {
	if p.token == nil || p.session == nil {
		return
	}
	// Progress is a courtesy: whether it arrives changes nothing.
	_ = p.session.NotifyProgress(p.ctx, &mcp.ProgressNotificationParams{
		ProgressToken: p.token, Progress: p.at, Total: p.total, Message: text,
	})
}
