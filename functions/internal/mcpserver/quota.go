package mcpserver

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// metaQuota is the key of _meta under which every result of a counted call says what is left
// of the key's limits, so that an agent sees it without a call of its own. The specification
// wants a prefix in reverse DNS order for keys that are not its own.
const metaQuota = "io.sekisho/quota"

// quota is where the caller stands with one limit after the call.
type quota struct {
	Limit     int64  `json:"limit"`
	Remaining int64  `json:"remaining"`
	ResetAt   string `json:"reset_at"`
}

// quotaMeta reads the figures out of the REST API's headers. It is nil where nothing is counted.
func (s *server) quotaMeta(x *exchange) mcp.Meta {
	x.mu.Lock()
	header := x.header
	x.mu.Unlock()
	quotas := gateway.ParseQuotas(gateway.Quota{
		RateLimit: header.Get("Ratelimit"), RateLimitPolicy: header.Get("Ratelimit-Policy"),
	})
	if len(quotas) == 0 {
		return nil
	}
	now := s.Now()
	figures := map[usage.Window]quota{}
	for _, q := range quotas {
		figures[q.Window] = quota{Limit: q.Limit, Remaining: q.Remaining, ResetAt: usage.FormatReset(resetOf(q, now))}
	}
	return mcp.Meta{metaQuota: figures}
}

// resetOf undoes that the wait was rounded up to whole seconds, a moment ago: months and days end at
// midnight.
func resetOf(q usage.Quota, now time.Time) time.Time {
	at := now.Add(q.Reset)
	if q.Window == usage.PerSecond {
		return at.Truncate(time.Second)
	}
	return at.Round(time.Minute)
}
