package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sekisho/functions/internal/contract"
)

// credentials are the parameters that carry the backend's credentials. They belong to the
// operator, so they are no arguments.
type credentials struct {
	headers, queries map[string]bool // headers in lower case
	signed           bool            // by AWS Signature 4, which has several
}

var signature = regexp.MustCompile(`(?i)^x-amz-(algorithm|content-sha256|credential|date|expires|security-token|signature|signedheaders)$`)

// auth reads the security schemes: what to leave out of arguments, and what to suggest.
func (d *document) auth(r *Report, backend string) credentials {
	c := credentials{headers: map[string]bool{}, queries: map[string]bool{}}
	schemes := d.root.get("components").get("securitySchemes")
	if d.swagger() {
		schemes = d.root.get("securityDefinitions")
	}
	for name, n := range schemes.members() {
		scheme, err := d.follow(n)
		if err != nil {
			r.note(Warning, "a security scheme can't be read", "", name, err.Error())
			continue
		}
		a := Auth{Scheme: clean(name, 60)}
		parameter := clean(scheme.text("name"), 60)
		token := strings.ToUpper(snake(backend)) + "_TOKEN"
		flag := func(format string, args ...any) {
			a.Flag = fmt.Sprintf("--backend-auth %s='%s'", backend, fmt.Sprintf(format, args...))
		}
		kind, way := scheme.text("type"), strings.ToLower(scheme.text("scheme"))
		switch {
		case scheme.text("x-amazon-apigateway-authtype") == "awsSigv4":
			c.signed = true
			a.Asks = "AWS Signature 4"
			r.note(Warning, "a way to authenticate that backends have not", "", a.Scheme, a.Asks)
		case kind == "apiKey" && scheme.text("in") == "header":
			c.headers[strings.ToLower(parameter)] = true
			a.Asks = "the header " + parameter
			flag("%s: env:%s", parameter, token)
			a.Terraform = fmt.Sprintf(`auth = { type = "header", name = %q, parameter = "/…" }`, parameter)
		case kind == "apiKey" && scheme.text("in") == "query":
			c.queries[scheme.text("name")] = true
			a.Asks = "the query parameter " + parameter
			flag("query:%s=env:%s", parameter, token)
			a.Terraform = fmt.Sprintf(`auth = { type = "query", name = %q, parameter = "/…" }`, parameter)
		case kind == "apiKey" && scheme.text("in") == "cookie":
			a.Asks = "the cookie " + parameter
			r.note(LeftOut, "cookies are not sent", "", parameter, "security scheme "+a.Scheme)
		case kind == "basic", kind == "http" && way == "basic":
			a.Asks = "user and password (Basic)"
			flag("basic:USER:env:%s", strings.TrimSuffix(token, "TOKEN")+"PASSWORD")
			a.Terraform = `auth = { type = "basic", name = "USER", parameter = "/…" }`
		case kind == "http" && way == "bearer", kind == "oauth2", kind == "openIdConnect":
			a.Asks = map[string]string{"http": "a bearer token", "oauth2": "an OAuth 2 access token", "openIdConnect": "an OpenID Connect token"}[kind]
			flag("Authorization: Bearer env:%s", token)
			a.Terraform = `auth = { type = "bearer", parameter = "/…" }`
			if kind != "http" {
				r.note(Warning, "tokens are not fetched or renewed: give one that lasts", "", a.Scheme, a.Asks)
			}
		default:
			a.Asks = clean(kind+" "+way, 60)
			r.note(Warning, "a way to authenticate that backends have not", "", a.Scheme, a.Asks)
		}
		r.Auth = append(r.Auth, a)
	}
	return c
}

// carries says that a parameter is a credential.
func (c credentials) carries(p parameter) bool {
	if c.signed && signature.MatchString(p.name) {
		return true
	}
	switch p.in {
	case "header":
		return c.headers[strings.ToLower(p.name)] || slices.Contains([]string{"authorization", "proxy-authorization"}, strings.ToLower(p.name))
	case "query":
		return c.queries[p.name]
	}
	return false
}

// setByExchange says that a header follows from the exchange itself, so that no caller gives it.
func setByExchange(name string) bool {
	return contract.ReservedHeader(name) || slices.Contains([]string{"accept", "content-type", "origin", "user-agent", "via"}, strings.ToLower(name))
}
