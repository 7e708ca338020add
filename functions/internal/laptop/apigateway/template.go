package apigateway

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/gateway"
)

// substitute replaces the variables of a template: $context.…, $stageVariables.… and
// $method.request.(header|querystring|path).…, with or without braces. A variable that is
// not set becomes nothing. Values are not escaped, as in the real service.
func substitute(template string, lookUp func(variable string) string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(template, '$')
		if at < 0 {
			out.WriteString(template)
			return out.String()
		}
		out.WriteString(template[:at])
		variable, length := variableAt(template[at:])
		if length == 0 {
			out.WriteByte('$')
			template = template[at+1:]
			continue
		}
		out.WriteString(lookUp(variable))
		template = template[at+length:]
	}
}

// variableAt reads the variable at the start of a text. Length counts all of its bytes, the
// dollar sign included, and is 0 when it is no variable.
func variableAt(text string) (variable string, length int) {
	body, braced := strings.CutPrefix(text[1:], "{")
	end := 0
	for end < len(body) && (isNameByte(body[end]) || isDot(body, end)) {
		end++
	}
	variable = body[:end]
	if !isKnownRoot(variable) {
		return "", 0
	}
	if !braced {
		return variable, 1 + end
	}
	if end == len(body) || body[end] != '}' {
		return "", 0
	}
	return variable, 1 + 1 + end + 1
}

func isNameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// isDot: a dot belongs to a variable only between two names, so that a sentence can end in one.
func isDot(text string, at int) bool {
	return text[at] == '.' && at > 0 && at+1 < len(text) && isNameByte(text[at+1]) && text[at-1] != '.'
}

func isKnownRoot(variable string) bool {
	return strings.HasPrefix(variable, "context.") || strings.HasPrefix(variable, "stageVariables.") ||
		strings.HasPrefix(variable, "method.request.")
}

// variables of one call, with what is known once there is an answer.
type variables struct {
	gateway *Gateway
	call    *call
	// refusal is nil for an answer of the integration.
	refusal *refusal
	// status and length of the answer; 0 while there is none.
	status int
	length int64
}

// lookUp is the value of a variable, empty when it is not set.
func (v *variables) lookUp(variable string) string {
	if name, ok := strings.CutPrefix(variable, "stageVariables."); ok {
		return v.call.settings.Variables[name]
	}
	if name, ok := strings.CutPrefix(variable, "method.request."); ok {
		return v.parameter(name)
	}
	name := strings.TrimPrefix(variable, "context.")
	if key, ok := strings.CutPrefix(name, "authorizer."); ok {
		return v.call.authorizer[key]
	}
	if what, ok := strings.CutPrefix(name, "error."); ok {
		return v.error(what)
	}
	if value, ok := v.ofRoute(name); ok {
		return value
	}
	return v.ofRequest(name)
}

func (v *variables) parameter(name string) string {
	place, name, _ := strings.Cut(name, ".")
	switch place {
	case "header":
		value, _ := v.call.lookUpHeader(name)
		return value
	case "querystring":
		return gateway.Last(v.call.query)[name]
	case "path":
		return v.call.pathParams[name]
	}
	return ""
}

func (v *variables) error(what string) string {
	if v.refusal == nil {
		return ""
	}
	switch what {
	case "message":
		return v.refusal.message
	case "messageString":
		quoted, _ := json.Marshal(v.refusal.message) // a string always encodes
		return string(quoted)
	case "responseType":
		return v.refusal.kind
	}
	return ""
}

// ofRoute has the variables that exist only for a known route or an answer.
func (v *variables) ofRoute(name string) (string, bool) {
	c := v.call
	switch name {
	case "resourceId":
		return c.matched().resourceID, true
	case "resourcePath":
		return c.matched().resource, true
	case "operationName":
		return c.matched().name, true
	case "status":
		return number(v.status), true
	case "responseLength":
		if v.status == 0 {
			return "", true
		}
		return strconv.FormatInt(v.length, 10), true
	case "responseLatency":
		return strconv.FormatInt(v.gateway.now().Sub(c.started).Milliseconds(), 10), true
	case "integrationLatency":
		if c.integrationStatus == 0 {
			return "", true
		}
		return strconv.FormatInt(c.integrationLatency.Milliseconds(), 10), true
	case "integrationStatus", "integration.status":
		return number(c.integrationStatus), true
	}
	return "", false
}

// matched is the call's route, an empty one for a path that there is not.
func (c *call) matched() *route {
	if c.route == nil {
		return &route{}
	}
	return c.route
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (v *variables) ofRequest(name string) string {
	c := v.call
	switch name {
	case "accountId":
		return accountID
	case "apiId":
		return apiID
	case "domainName":
		return v.gateway.config.Domain
	case "domainPrefix":
		prefix, _, _ := strings.Cut(v.gateway.config.Domain, ".")
		return prefix
	case "extendedRequestId":
		return c.extendedID
	case "httpMethod":
		return c.method
	case "identity.sourceIp":
		return c.sourceIP
	case "identity.userAgent":
		return c.userAgent
	case "path":
		return c.contextPath()
	case "protocol":
		return c.protocol
	case "requestId":
		return c.requestID
	case "requestTime":
		return c.started.UTC().Format(gateway.RequestTime)
	case "requestTimeEpoch":
		return strconv.FormatInt(c.started.UnixMilli(), 10)
	case "stage":
		return v.gateway.config.Stage
	}
	return ""
}

// pickTemplate chooses the template for what a client accepts: one that it names, else
// application/json, else the first. The key is the content type of the answer.
func pickTemplate(templates map[string]string, accept string) (contentType, template string) {
	for _, wanted := range strings.Split(accept, ",") {
		wanted, _, _ = strings.Cut(wanted, ";")
		if template, ok := templates[strings.TrimSpace(wanted)]; ok {
			return strings.TrimSpace(wanted), template
		}
	}
	if template, ok := templates["application/json"]; ok {
		return "application/json", template
	}
	for _, contentType := range slices.Sorted(maps.Keys(templates)) {
		return contentType, templates[contentType]
	}
	return "", ""
}
