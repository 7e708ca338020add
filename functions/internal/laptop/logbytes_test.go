package laptop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/usage"
)

// mostPerCall is how many bytes a call of MCP that goes well may leave in all logs together: a million
// of them cost half a dollar for each kilobyte.
const mostPerCall = 450

// TestLoggedPerCall: a call that goes well is told of once. With proxy dispatch that is the record of
// the request that mcp makes; with direct dispatch it is mcp's own. (A traced call has a line of mcp in
// both: see TestTraceReachesTheUpstream.)
func TestLoggedPerCall(t *testing.T) {
	eachDispatch(t, func(t *testing.T, dispatch string) {
		access := &lockedBuffer{}
		s := dispatched(t, dispatch, account.Plans{"enterprise": usage.PerMonth(1_000_000)}, func(c *laptop.Config) { c.Gateway.AccessLog = access })
		_, key := s.newKey("enterprise")
		secret, _, err := s.ring.RotateKey(t.Context(), key.ID, 0) // its meter is the old key's
		if err != nil {
			t.Fatal(err)
		}
		logged := func(call func()) (lines []map[string]any, records string, size int) {
			before, beforeAccess := len(s.log.String()), len(access.String())
			call()
			if err := s.Flush(t.Context()); err != nil { // settle writes when it has settled
				t.Fatal(err)
			}
			added := s.log.String()[before:]
			records = access.String()[beforeAccess:]
			for line := range strings.Lines(added) {
				var fields map[string]any
				if err := json.Unmarshal([]byte(line), &fields); err != nil {
					t.Fatalf("%v: %q", err, line)
				}
				lines = append(lines, fields)
			}
			return lines, records, len(added) + len(records)
		}
		lines, records, size := logged(func() {
			s.mcpCall(secret.Reveal(), "calendar_business_days_between", `{"from":"2026-11-02","to":"2026-11-30"}`)
		})
		t.Logf("%d bytes: by functions %v, by the gateway\n%s", size, lines, records)
		said := records
		if dispatch == boot.Direct && len(lines) == 1 {
			said, _ = lines[0]["gate"].(string)
		}
		if want := map[string]int{boot.Proxy: 0, boot.Direct: 1}[dispatch]; len(lines) != want || size > mostPerCall {
			t.Errorf("%d lines of functions, %d bytes in all; want %d, and at most %d", len(lines), size, want, mostPerCall)
		}
		if !strings.Contains(said, "admission_id=adm_") || !strings.Contains(said, "meter="+key.ID) {
			t.Errorf("nothing to give the call back by: %s", said)
		}
		if lines, _, _ := logged(func() { s.mcpCall(secret.Reveal(), "postal_lookup", `{"postal_code":"0000000"}`) }); len(lines) < 2 {
			t.Errorf("of a call that fails there is only %v", lines)
		}
		for name, call := range map[string]func(){
			"never leaves mcp":       func() { s.mcpCall(secret.Reveal(), "utility_find_tools", `{"query":"postal"}`) },
			"is made of other calls": func() { s.mcpCall(secret.Reveal(), "utility_diagnose_mcp", `{}`) },
		} {
			if lines, _, _ := logged(call); len(lines) == 0 || lines[len(lines)-1]["function"] != "mcp" {
				t.Errorf("of a call that %s there is %v, and no line of mcp", name, lines)
			}
		}
	})
}
