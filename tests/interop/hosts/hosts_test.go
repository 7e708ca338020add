//go:build interop

package hosts

import (
	"fmt"
	"path/filepath"
	"strings"
)

// hosts are all that run here, as the printed configuration has them. Each works for a model on the
// loopback, and may call the server's tools without asking anybody.
var hosts = []host{
	{
		id: "claude-code", name: "Claude Code", pkg: "@anthropic-ai/claude-code", program: "claude",
		argv: func(p packages) []string { return p.native("@anthropic-ai/claude-code-{platform}/claude") },
		env: func(g ground) []string {
			env := []string{
				"ANTHROPIC_BASE_URL=" + g.model, "ANTHROPIC_API_KEY=x", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
			}
			if g.short > 0 {
				env = append(env, fmt.Sprintf("MCP_TOOL_TIMEOUT=%d", g.short*1000))
			}
			return env
		},
		run: func(g ground) []string { return []string{"-p", task, "--allowedTools", "mcp__sekisho__*"} },
	},
	{
		id: "codex", name: "Codex CLI", pkg: "@openai/codex", program: "codex",
		argv: func(p packages) []string { return p.javaScript("@openai/codex/bin/codex.js") },
		env:  func(g ground) []string { return []string{"MODEL_KEY=x"} },
		prepare: func(g ground) {
			file := filepath.Join(g.home, ".codex", "config.toml")
			wait := ""
			if g.short > 0 {
				wait = fmt.Sprintf("tool_timeout_sec = %d\n", g.short)
			}
			g.write(file, fmt.Sprintf("model = %q\nmodel_provider = \"scripted\"\napproval_policy = \"never\"\ncheck_for_update_on_startup = false\n\n"+
				"[analytics]\nenabled = false\n\n"+
				"[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"%s/v1\"\nwire_api = \"responses\"\nenv_key = \"MODEL_KEY\"\n\n%s\n%s",
				modelName, g.model, g.read(file), wait))
		},
		run: func(g ground) []string {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", task}
		},
	},
	{
		id: "gemini-cli", name: "Gemini CLI", pkg: "@google/gemini-cli", program: "gemini",
		argv: func(p packages) []string { return p.javaScript("@google/gemini-cli/bundle/gemini.js") },
		env: func(g ground) []string {
			return []string{
				"GOOGLE_GEMINI_BASE_URL=" + g.model, "GEMINI_API_KEY=x", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_TELEMETRY_ENABLED=false",
				"GEMINI_CLI_NO_RELAUNCH=true",
			}
		},
		prepare: func(g ground) {
			g.change(filepath.Join(g.home, ".gemini", "settings.json"), func(settings object) {
				settings["general"] = object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false}
				settings["privacy"] = object{"usageStatisticsEnabled": false}
				settings["security"] = object{"auth": object{"selectedType": "gemini-api-key"}}
				g.shorten(settings, "mcpServers", "timeout", 1000)
			})
		},
		run: func(g ground) []string { return []string{"--yolo", "--model", "gemini-2.5-flash", "--prompt", task} },
	},
	{
		id: "opencode", name: "opencode", pkg: "opencode-linux-x64", program: "opencode",
		argv: func(p packages) []string { return p.native("opencode-{platform}/bin/opencode") },
		env: func(g ground) []string {
			return []string{
				"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_SHARE=1",
				"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			}
		},
		prepare: func(g ground) {
			config := object{
				"provider": object{"scripted": object{
					"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": g.model + "/v1", "apiKey": "x"},
					"models": object{modelName: object{"name": modelName, "tool_call": true, "limit": object{"context": 200000, "output": 8000}}},
				}},
			}
			if g.short > 0 {
				config["experimental"] = object{"mcp_timeout": g.short * 1000}
			}
			g.change(filepath.Join(g.work, "opencode.json"), func(settings object) {
				for name, value := range config {
					settings[name] = value
				}
			})
		},
		run: func(g ground) []string { return []string{"run", "--auto", "--model", "scripted/" + modelName, task} },
	},
	{
		id: "copilot-cli", name: "GitHub Copilot CLI", pkg: "@github/copilot", program: "copilot",
		argv: func(p packages) []string { return p.native("@github/copilot-{platform}/copilot") },
		env: func(g ground) []string {
			return []string{
				"COPILOT_PROVIDER_BASE_URL=" + g.model + "/v1", "COPILOT_PROVIDER_API_KEY=x", "COPILOT_MODEL=" + modelName,
				"COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false",
			}
		},
		prepare: func(g ground) {
			g.change(filepath.Join(g.home, ".copilot", "mcp-config.json"), func(settings object) { g.shorten(settings, "mcpServers", "timeout", 1000) })
		},
		run: func(g ground) []string { return []string{"--allow-all-tools", "--no-auto-update", "--prompt", task} },
	},
	{
		id: "qwen-code", name: "Qwen Code", pkg: "@qwen-code/qwen-code", program: "qwen",
		argv: func(p packages) []string { return p.javaScript("@qwen-code/qwen-code/cli-entry.js") },
		env: func(g ground) []string {
			return []string{"OPENAI_BASE_URL=" + g.model + "/v1", "OPENAI_API_KEY=x", "OPENAI_MODEL=" + modelName}
		},
		prepare: func(g ground) {
			g.change(filepath.Join(g.home, ".qwen", "settings.json"), func(settings object) {
				settings["general"] = object{"enableAutoUpdate": false}
				settings["privacy"] = object{"usageStatisticsEnabled": false}
				settings["security"] = object{"auth": object{"selectedType": "openai"}}
				g.shorten(settings, "mcpServers", "timeout", 1000)
			})
		},
		run: func(g ground) []string { return []string{"--yolo", "--auth-type", "openai", task} },
	},
	{
		id: "cline", name: "Cline CLI", pkg: "@cline/cli-linux-x64", program: "cline",
		argv: func(p packages) []string { return p.native("@cline/cli-{platform}/bin/cline") },
		env:  func(g ground) []string { return []string{"CLINE_TELEMETRY_DISABLED=1", "DO_NOT_TRACK=1"} },
		setup: func(g ground) [][]string {
			return [][]string{{"auth", "--provider", "openai", "--apikey", "x", "--baseurl", g.model + "/v1", "--modelid", modelName}}
		},
		prepare: func(g ground) {
			g.change(filepath.Join(g.home, ".cline", "data", "settings", "cline_mcp_settings.json"), func(settings object) { g.shorten(settings, "mcpServers", "timeout", 1) })
		},
		run: func(g ground) []string { return []string{"--auto-approve", "true", task} },
	},
	{
		id: "continue", name: "Continue CLI", pkg: "@continuedev/cli", program: "cn",
		argv: func(p packages) []string { return p.javaScript("@continuedev/cli/dist/cn.js") },
		env: func(g ground) []string {
			return []string{"CONTINUE_TELEMETRY_ENABLED=0", "CONTINUE_CLI_ENABLE_TELEMETRY=0", "CONTINUE_CLI_AUTO_UPDATED=1"}
		},
		prepare: func(g ground) {
			file := filepath.Join(g.home, ".continue", "config.yaml")
			g.write(file, strings.Join([]string{
				"name: test", "version: 1.0.0", "schema: v1", "models:", "  - name: " + modelName, "    provider: openai", "    model: " + modelName,
				"    apiBase: " + g.model + "/v1", "    apiKey: x", "    roles: [chat]", "    capabilities: [tool_use]", g.read(file), "",
			}, "\n"))
		},
		run: func(g ground) []string {
			return []string{"--config", filepath.Join(g.home, ".continue", "config.yaml"), "--auto", "--print", task}
		},
	},
}
