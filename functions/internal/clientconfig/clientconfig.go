// Package clientconfig has what to paste into clients, for the page and for `sekisho up`.
package clientconfig

import "strings"

// Client is one client, and what it is given.
type Client struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Where the text goes: a file's name, or "" for a shell.
	Where string `json:"where"`
	// Text has {mcp} for the address of MCP, {api} for the API's base address, and {key} for the key.
	Text string `json:"text"`
}

// Clients lists them, the commonest first.
func Clients() []Client {
	return []Client{
		{"claude-code", "Claude Code", "", `claude mcp add --transport http sekisho {mcp} --header "x-api-key: {key}"`},
		{"claude", "Claude connectors", "", "{mcp}\nx-api-key: {key}"},
		{"cursor", "Cursor", ".cursor/mcp.json", `{"mcpServers":{"sekisho":{"url":"{mcp}","headers":{"x-api-key":"{key}"}}}}`},
		{"vscode", "VS Code", ".vscode/mcp.json", `{"servers":{"sekisho":{"type":"http","url":"{mcp}","headers":{"x-api-key":"{key}"}}}}`},
		{"inspector", "MCP Inspector", "", `npx @modelcontextprotocol/inspector --cli {mcp} --transport http --header "x-api-key: {key}" --method tools/list`},
		{"curl", "curl", "", `curl -H "x-api-key: {key}" {api}/v1/user/usage`},
	}
}

// SignIn lists clients that sign in by themselves at an address that takes no key.
func SignIn() []Client {
	return []Client{
		{"claude-code", "Claude Code (then /mcp in a session to sign in)", "", `claude mcp add --transport http sekisho-oauth {mcp}`},
		{"cursor", "Cursor", ".cursor/mcp.json", `{"mcpServers":{"sekisho-oauth":{"url":"{mcp}"}}}`},
		{"vscode", "VS Code", ".vscode/mcp.json", `{"servers":{"sekisho-oauth":{"type":"http","url":"{mcp}"}}}`},
		{"mcp-remote", "Hosts that start a command only", "", `npx mcp-remote {mcp}`},
	}
}

// For fills in the address of MCP, the API's base address, which has no final slash, and a key.
func (c Client) For(mcp, api, key string) string {
	return strings.NewReplacer("{mcp}", mcp, "{api}", api, "{key}", key).Replace(c.Text)
}
