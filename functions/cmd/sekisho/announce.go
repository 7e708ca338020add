package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/clientconfig"
)

// announcement is what `sekisho up` prints when it is ready: addresses, new keys, and client
// configuration to paste.
func announcement(at addresses, backends map[string]string, data string, plans account.Plans, created map[string]string) string {
	var b strings.Builder
	b.WriteString("Sekisho is ready.\n\n" + at.table(data))
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
	b.WriteString(clientConfiguration(at, key))
	return b.String()
}

// table lists the addresses, and where the logs are.
func (at addresses) table(data string) string {
	oauth := ""
	if at.oauth != "" {
		oauth = "  OAuth " + at.oauth + "\n"
	}
	return fmt.Sprintf("  Page  %[2]s/\n  MCP   %[1]s\n%[4]s  REST  %[2]s/v1/health\n  Logs  %[3]s/log.jsonl\n\n", at.mcp, at.api, data, oauth)
}

// clientConfiguration is configuration to paste into clients.
func clientConfiguration(at addresses, key string) string {
	var b strings.Builder
	list := func(clients []clientconfig.Client, mcp string) {
		for _, c := range clients {
			b.WriteString(c.Name)
			if c.Where != "" {
				b.WriteString(", in " + c.Where)
			}
			b.WriteString(":\n\n  " + strings.ReplaceAll(c.For(mcp, at.api, key), "\n", "\n  ") + "\n\n")
		}
	}
	list(clientconfig.Clients(), at.mcp)
	if at.oauth != "" {
		b.WriteString("Without a key in the configuration; the host opens a browser to sign in. Hosts that call from servers of\ntheir own, such as claude.ai and ChatGPT, take only the address of a deployed stack (add a connector).\n\n")
		list(clientconfig.SignIn(), at.oauth)
	}
	b.WriteString("Stop with Ctrl-C.\n")
	return b.String()
}

// firstOf returns the key on a plan if there is one, else any key.
func firstOf(created map[string]string, plan string) string {
	if key, ok := created[plan]; ok {
		return key
	}
	return created[slices.Sorted(maps.Keys(created))[0]]
}
