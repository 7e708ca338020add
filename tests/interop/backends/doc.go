// Package backends puts the meter before APIs that nobody here wrote, each with one command, and
// drives them with real MCP clients: go-httpbin; Alertmanager with its own description; Prism,
// which plays GitHub's and Figma's by theirs; and a Python handler for Lambda. What came out is
// compared with testdata/backends.md.
//
// Prism needs npm, and Alertmanager is built from the Go proxy, so the tests have the build tag
// interop; make interop runs them:
//
//	go test -tags interop ./tests/interop/backends [-update]
package backends
