package apigateway

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
)

// accessLog renders records: one JSON object a call, with strings for values, and "-" for a
// variable that is not set. Unlike API Gateway it escapes the values, so that a record is
// always JSON; the values of the contract's fields need no escaping.
type accessLog struct {
	fields []accessLogField
}

type accessLogField struct {
	// prefix is what comes before the value: separator, name and colon.
	prefix string
	// format is a text with variables.
	format string
}

// newAccessLog takes the format that is configured, else the description's.
func newAccessLog(configured, described map[string]string) accessLog {
	format := configured
	if format == nil {
		format = described
	}
	var l accessLog
	for i, name := range slices.Sorted(maps.Keys(format)) {
		quoted, _ := json.Marshal(name) // a string always encodes
		prefix := "," + string(quoted) + ":"
		if i == 0 {
			prefix = "{" + prefix[1:]
		}
		l.fields = append(l.fields, accessLogField{prefix: prefix, format: format[name]})
	}
	return l
}

// render makes the record of a call.
func (l accessLog) render(v *variables) string {
	if len(l.fields) == 0 {
		return "{}"
	}
	var out strings.Builder
	for _, field := range l.fields {
		quoted, _ := json.Marshal(field.value(v)) // a string always encodes
		out.WriteString(field.prefix)
		out.Write(quoted)
	}
	out.WriteByte('}')
	return out.String()
}

func (f accessLogField) value(v *variables) string {
	return substitute(f.format, func(variable string) string {
		if value := v.lookUp(variable); value != "" {
			return value
		}
		return "-"
	})
}

// record writes the access log of a call whose answer has so many bytes, and hands settle what its subscription filter would.
func (g *Gateway) record(c *call, a *answer, length int64) {
	v := &variables{gateway: g, call: c, refusal: a.refusal, status: a.status, length: length}
	text := g.accessLog.render(v)
	if g.config.AccessLog != nil {
		// One write for one line: several processes may append to the same file.
		if _, err := io.WriteString(g.config.AccessLog, text+"\n"); err != nil {
			g.log.Error("access log could not be written", zap.Error(err))
		}
	}
	if g.config.Subscription == nil {
		return
	}
	if record, err := gateway.ParseAccessRecord([]byte(text)); err == nil && record.ForSettle() {
		g.config.Subscription.Add(c.started, text)
	}
}
