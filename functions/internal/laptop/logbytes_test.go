package laptop_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/usage"
)

// mostPerCall is how many bytes mcp may log of a call that it dispatched: a million of them cost
// half a dollar for each kilobyte.
const mostPerCall = 350

// TestLoggedPerCall: a call that goes well leaves one line of mcp. What functions write beside it is
// in the access log, or in mcp's own line, so they write nothing.
func TestLoggedPerCall(t *testing.T) {
	eachDispatch(t, func(t *testing.T, dispatch string) {
		access := &lockedBuffer{}
		s := dispatched(t, dispatch, account.Plans{"enterprise": usage.PerMonth(1_000_000)}, func(c *laptop.Config) { c.Gateway.AccessLog = access })
		_, key := s.newKey("enterprise")
		secret, _, err := s.ring.RotateKey(t.Context(), key.ID, 0) // its meter is the old key's
		if err != nil {
			t.Fatal(err)
		}
		logged := func(call func()) (lines []map[string]any, size int) {
			before := len(s.log.String())
			call()
			added := s.log.String()[before:]
			for _, line := range strings.Split(strings.TrimSpace(added), "\n") {
				var fields map[string]any
				if err := json.Unmarshal([]byte(line), &fields); err != nil {
					t.Fatalf("%v: %q", err, line)
				}
				lines = append(lines, fields)
			}
			return lines, len(added)
		}
		beforeAccess := len(access.String())
		lines, size := logged(func() {
			s.mcpCall(secret.Reveal(), "calendar_business_days_between", `{"from":"2026-11-02","to":"2026-11-30"}`)
		})
		accessed := access.String()[beforeAccess:]
		t.Logf("%d bytes by functions, %d by the gateway in %d records: %v", size, len(accessed), bytes.Count([]byte(accessed), []byte("\n")), lines)
		if len(lines) != 1 || lines[0]["function"] != "mcp" || size > mostPerCall {
			t.Errorf("%d lines, %d bytes; want one of mcp, and at most %d", len(lines), size, mostPerCall)
		}
		if dispatch == boot.Direct && lines[0]["admission_id"] == nil {
			t.Errorf("nothing to give the call back by: %v", lines[0])
		}
		if lines, _ := logged(func() { s.mcpCall(secret.Reveal(), "postal_lookup", `{"postal_code":"0000000"}`) }); len(lines) < 2 {
			t.Errorf("of a call that fails there is only %v", lines)
		}
	})
}
