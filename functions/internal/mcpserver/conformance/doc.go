// Package conformance runs the official conformance suites of MCP against the whole layer:
// front with the key, stand-in for API Gateway, Lambda events, guard, authentication,
// middleware and SDK. The suites call tools, prompts and resources of their own; those are
// registered here through mcpserver.Extended, which only the tag interop builds.
//
// The tests need npm, so they have the build tag interop; make interop runs them.
package conformance
