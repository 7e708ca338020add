// Package clientconfig has what to paste into clients, for the page and for `sekisho up`.
package clientconfig

import "strings"

// Client is one client, and what it is given.
type Client struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Where the text goes: a file, of which ~ is the home directory, or "" for a shell.
	Where string `json:"where"`
	// Text has {mcp} for the address of MCP, {api} for the API's base address, and {key} for the key.
	Text string `json:"text"`
}

// Clients lists them, the commonest first: those that tests/interop runs with this very text, and no
// other.
func Clients() []Client {
	return []Client{
		{"claude-code", "Claude Code", "", `claude mcp add --transport http sekisho {mcp} --header "x-api-key: {key}"`},
		{"codex", "Codex CLI", "~/.codex/config.toml", "[mcp_servers.sekisho]\nurl = \"{mcp}\"\nhttp_headers = { \"x-api-key\" = \"{key}\" }"},
		{"gemini-cli", "Gemini CLI", "", `gemini mcp add --scope user --transport http sekisho {mcp} --header "x-api-key: {key}"`},
		{"opencode", "opencode", "", `opencode mcp add sekisho --url {mcp} --header "x-api-key={key}"`},
		{"copilot-cli", "GitHub Copilot CLI", "", `copilot mcp add --transport http sekisho {mcp} --header "x-api-key: {key}"`},
		{"qwen-code", "Qwen Code", "", `qwen mcp add --transport http sekisho {mcp} --header "x-api-key: {key}"`},
		{"cline", "Cline CLI", "~/.cline/data/settings/cline_mcp_settings.json", `{"mcpServers":{"sekisho":{"type":"streamableHttp","url":"{mcp}","headers":{"x-api-key":"{key}"}}}}`},
		{"continue", "Continue CLI", "~/.continue/config.yaml", "mcpServers:\n  - name: sekisho\n    type: streamable-http\n    url: {mcp}\n    requestOptions:\n      headers:\n        x-api-key: {key}"},
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
