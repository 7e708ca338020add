// Package clients drives real MCP clients against `sekisho up`, each through the same steps,
// and compares what every one of them made of the answers with testdata/matrix.md and
// testdata/displays.md. With -oauth the OAuth door is open too: the tables stay the same, and clients
// sign in there, in a real browser, for testdata/signin.md and testdata/authorization.md.
//
// The clients are the MCP Inspector, the TypeScript SDK (version 2, and releases of version 1
// that speak three protocol versions), mcp-remote, and the Go clients go-sdk and mcp-go. They
// need npm, so the tests have the build tag interop; make interop runs them:
//
//	go test -tags interop ./tests/interop/clients [-topology DISPATCH/DOOR] [-oauth] [-update]
package clients
