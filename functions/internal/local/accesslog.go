package local

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
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

// render makes the record of a call, and its values by field.
func (l accessLog) render(v *variables) (record string, values map[string]string) {
	if len(l.fields) == 0 {
		return "{}", nil
	}
	values = make(map[string]string, len(l.fields))
	lookUp := func(variable string) string {
		if value := v.lookUp(variable); value != "" {
			return value
		}
		return "-"
	}
	var out strings.Builder
	for _, field := range l.fields {
		value := substitute(field.format, lookUp)
		quoted, _ := json.Marshal(value)
		out.WriteString(field.prefix)
		out.Write(quoted)
		values[field.name] = value
	}
	out.WriteByte('}')
	return out.String(), values
}

// isForSettle is the filter of the subscription: admitted calls that failed, whose units are
// given back, and calls over the limit, which are counted. It is the filter that CloudWatch
// Logs gets, in Go.
func isForSettle(values map[string]string) bool {
	status := values["status"]
	failed := strings.HasPrefix(status, "4") || strings.HasPrefix(status, "5")
	return failed && strings.HasPrefix(values["admission_id"], "adm_") || values["denial"] == "limit_exceeded"
}

// record writes the access log of a call.
func (g *Gateway) record(c *call, a *answer) {
	v := &variables{gateway: g, call: c, refusal: a.refusal, status: a.status, length: len(a.body)}
	text, values := g.accessLog.render(v)
	if isForSettle(values) {
		g.subscription.add(logRecord{at: c.started, text: text})
	}
}
