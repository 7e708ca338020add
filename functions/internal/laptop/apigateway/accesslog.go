package apigateway

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// accessLog renders records: one JSON object a call, with strings for values, and "-" for a
// variable that is not set. Unlike API Gateway it escapes the values, so that a record is
// JSON whatever is in them; with the values of the contract's fields there is no difference.
type accessLog struct {
	fields []accessLogField
}

type accessLogField struct {
	// prefix is what stands before the value: separator, name and colon.
	prefix string
	name   string
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
		l.fields = append(l.fields, accessLogField{prefix: prefix, name: name, format: format[name]})
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

// value of one field, empty for a field that the format does not have.
func (l accessLog) value(name string, v *variables) string {
	for _, field := range l.fields {
		if field.name == name {
			return field.value(v)
		}
	}
	return ""
}

func (f accessLogField) value(v *variables) string {
	return substitute(f.format, func(variable string) string {
		if value := v.lookUp(variable); value != "" {
			return value
		}
		return "-"
	})
}

// isForSettle is the filter of the subscription: admitted calls that failed, whose units are
// given back, and calls over the limit, which are counted. It is the filter that CloudWatch
// Logs gets, in Go:
//
//	{ ($.admission_id = "adm_*" && ($.status = "4*" || $.status = "5*")) || $.denial = "limit_exceeded" }
func (l accessLog) isForSettle(v *variables) bool {
	status := l.value("status", v)
	if strings.HasPrefix(status, "2") || strings.HasPrefix(status, "3") {
		return false // most calls end here; no denial has such a status
	}
	failed := strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5")
	return failed && strings.HasPrefix(l.value("admission_id", v), "adm_") ||
		l.value("denial", v) == "limit_exceeded"
}

// record writes the access log of a call, where anything reads it.
func (g *Gateway) record(c *call, a *answer) {
	v := &variables{gateway: g, call: c, refusal: a.refusal, status: a.status, length: len(a.body)}
	forSettle := g.accessLog.isForSettle(v)
	if !forSettle && g.config.AccessLog == nil {
		return
	}
	text := g.accessLog.render(v)
	if g.config.AccessLog != nil {
		// One write for one line: several processes may append to the same file.
		if _, err := io.WriteString(g.config.AccessLog, text+"\n"); err != nil {
			g.log.Error("access log could not be written", zap.Error(err))
		}
	}
	if forSettle && g.config.Subscription != nil {
		g.config.Subscription.Add(c.started, text)
	}
}
