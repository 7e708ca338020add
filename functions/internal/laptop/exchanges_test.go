package laptop_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/usage"
)

var update = flag.Bool("update", false, "write the golden files under testdata")

// TestRefusedClients holds what a client without a key meets, address by address, through the
// whole gateway: what it shows its user then depends on these bytes. The exchanges of /mcp
// itself are golden files of package mcpserver.
func TestRefusedClients(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(1)}, nil)
	for _, c := range []struct{ name, method, path, body string }{
		{"well_known_resource", "GET", "/.well-known/oauth-protected-resource", ""},
		{"well_known_resource_mcp", "GET", "/.well-known/oauth-protected-resource/mcp", ""},
		{"well_known_server", "GET", "/.well-known/oauth-authorization-server", ""},
		{"well_known_openid", "GET", "/.well-known/openid-configuration", ""},
		{"register", "POST", "/register", `{"client_name":"test","redirect_uris":["http://127.0.0.1:1/callback"]}`},
		{"authorize", "GET", "/authorize?response_type=code", ""},
		{"token", "POST", "/token", `{}`},
		{"mcp_get", "GET", "/mcp", ""},
		{"mcp_delete", "DELETE", "/mcp", ""},
		{"mcp_post", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		{"mcp_final_slash", "POST", "/mcp/", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := write(c.method, c.path, c.body, s.call(c.method, c.path, "", c.body))
			path := filepath.Join("testdata", "exchanges", c.name+".txt")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s has\n%s\ngot\n%s", path, want, got)
			}
		})
	}
}

// passing are headers that differ from call to call.
var passing = []string{"Date", "Content-Length", "X-Amzn-Requestid", "X-Amz-Apigw-Id", "Apigw-Requestid", "X-Amzn-Trace-Id"}

func write(method, path, body string, a answer) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "> %s %s\n", method, path)
	if body != "" {
		fmt.Fprintf(&b, "> %s\n", body)
	}
	fmt.Fprintf(&b, "\n< %d\n", a.status)
	var lines []string
	for name, values := range a.header {
		if !slices.Contains(passing, name) {
			lines = append(lines, fmt.Sprintf("< %s: %s\n", name, strings.Join(values, ", ")))
		}
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, "") + "\n")
	if json.Indent(&b, a.body, "", "  ") != nil {
		b.Write(a.body)
	}
	b.WriteString("\n")
	return b.Bytes()
}
