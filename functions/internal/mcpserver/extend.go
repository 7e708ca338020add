//go:build interop

package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/gateway"
)

// Extended is Handler with what the official conformance suites call: tools, prompts and
// resources that extend adds to the SDK's server, and the methods that go with them. tools
// are the names of those tools. No deployment is built with the tag interop.
func Extended(c Config, extend func(*mcp.Server), tools []string) (*gateway.Function, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := newServer(c)
	if err != nil {
		return nil, err
	}
	extend(s.sdk)
	s.extended = true
	for _, name := range tools {
		s.tools.byName[name] = &tool{name: name, listed: name}
	}
	s.offered = map[string]era{
		"prompts/get": legacy | modern, "resources/read": legacy | modern, "completion/complete": legacy | modern,
		"resources/subscribe": legacy, "resources/unsubscribe": legacy, "logging/setLevel": legacy,
	}
	for method, eras := range offered {
		s.offered[method] = eras
	}
	return s.lambda(), nil
}
