package mcpserver

import (
	"context"
	"net/http"
	"sync"

	"sekisho/functions/internal/account"
)

// call is what a tool needs to know of the HTTP request that it serves. It travels as a
// value of the context, because the SDK passes on values and drops deadline and
// cancellation.
type call struct {
	request *http.Request
	key     account.Key
	secret  string

	mu sync.Mutex
	// tool is its canonical name; empty for other methods, and for what is no tool.
	tool string
	// result is the word for the log: ok, or a problem's code.
	result string
	header http.Header
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// context is the request's own, with the deadline that the SDK dropped.
func (c *call) context() context.Context { return c.request.Context() }

func (c *call) setTool(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tool = name
}

func (c *call) setOutcome(result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result = result
}

// outcome is "rejected" when neither a tool nor the middleware saw the request: the SDK
// refused it.
func (c *call) outcome() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result == "" {
		return "rejected"
	}
	return c.result
}

func (c *call) toolName() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tool
}

// passed are the headers of the REST API's answer that the caller sees too: what is left of
// the limit (draft-ietf-httpapi-ratelimit-headers), and when to come back.
var passed = []string{"Ratelimit", "Ratelimit-Policy", "Retry-After"}

func (c *call) keepHeaders(answer http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.header = http.Header{}
	for _, name := range passed {
		if v := answer.Get(name); v != "" {
			c.header.Set(name, v)
		}
	}
}

func (c *call) addHeaders(to http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, values := range c.header {
		to[name] = values
	}
}
