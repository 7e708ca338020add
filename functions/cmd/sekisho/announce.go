package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/functions/internal/account"
)

// announcement is what `sekisho up` prints when it is ready: addresses, new keys, and client
// configuration to paste.
func announcement(base string, backends map[string]string, data string, plans account.Plans, created map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Sekisho is ready.\n\n  MCP   %s/mcp\n  REST  %s/v1/health\n  Logs  %s/log.jsonl\n\n", base, base, data)
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		fmt.Fprintf(&b, "The tools of %s call %s\n\n", name, backends[name])
	}
	key := "YOUR_KEY"
	if len(created) == 0 {
		fmt.Fprintf(&b, "The keys in %s were shown when they were created. To create another:\n\n  sekisho keys create --data %s --user %s\n\n", data, data, plans.Names()[0])
	} else {
		b.WriteString("Keys, shown this once:\n\n")
		for _, plan := range slices.Sorted(maps.Keys(created)) {
			fmt.Fprintf(&b, "  %-10s %s   (%s)\n", plan, created[plan], plans.Describe(plan))
		}
		b.WriteString("\n")
		key = firstOf(created, "free")
	}
	b.WriteString(clientConfiguration(base, key))
	return b.String()
}

// clientConfiguration is configuration to paste into clients.
func clientConfiguration(base, key string) string {
	return fmt.Sprintf(`Claude Code:

  claude mcp add --transport http sekisho %[1]s/mcp --header "x-api-key: %[2]s"

Cursor, in .cursor/mcp.json:

  {"mcpServers":{"sekisho":{"url":"%[1]s/mcp","headers":{"x-api-key":"%[2]s"}}}}

MCP Inspector:

  npx @modelcontextprotocol/inspector --cli %[1]s/mcp --transport http --header "x-api-key: %[2]s" --method tools/list

curl:

  curl -H "x-api-key: %[2]s" %[1]s/v1/postal/100-0001

Stop with Ctrl-C.
`, base, key)
}

// firstOf returns the key on a plan if there is one, else any key.
func firstOf(created map[string]string, plan string) string {
	if key, ok := created[plan]; ok {
		return key
	}
	return created[slices.Sorted(maps.Keys(created))[0]]
}
