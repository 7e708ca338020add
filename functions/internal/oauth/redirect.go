package oauth

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Bounds of what a client may say of itself, in bytes.
const (
	mostRedirect  = 512
	mostRedirects = 20
)

// appSchemes are private-use schemes without a dot that known MCP hosts claim. All others need one
// (RFC 8252, section 7.1), which also keeps javascript, data, file and their like out.
var appSchemes = []string{
	"claude", "cursor", "goose", "kiro", "lmstudio", "raycast", "trae", "vscode", "vscode-insiders", "vscodium", "windsurf", "zed",
}

var (
	// hostName is a name in ASCII, or an IPv4 address. International names have their xn-- form, so
	// that look-alikes show.
	hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
	// onInternet is a name in lower case with a top-level domain, which no address has.
	onInternet = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$`)
	// dotted is a scheme in the form of a domain turned round, such as com.example.app.
	dotted = regexp.MustCompile(`^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$`)
)

// parseRedirect reads a redirect URI of a kind that a code may be sent to: https, http to the
// person's own computer, or a scheme that belongs to an app.
func parseRedirect(raw string) (*url.URL, bool) {
	if len(raw) == 0 || len(raw) > mostRedirect || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"<>\^{|}#`+"`", r) }) {
		return nil, false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" || u.Opaque != "" || u.User != nil || u.String() != raw {
		return nil, false // what a browser might read otherwise than we do is refused
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return nil, false
	}
	switch {
	case u.Scheme == "https":
		return u, hostName.MatchString(u.Hostname()) && !strings.HasSuffix(u.Host, ":")
	case u.Scheme == "http":
		return u, isLoopback(u) && !strings.HasSuffix(u.Host, ":")
	}
	return u, slices.Contains(appSchemes, u.Scheme) || dotted.MatchString(u.Scheme)
}

// isLoopback: http to this computer, by one of the three names that clients use.
func isLoopback(u *url.URL) bool {
	return u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// sameRedirect: equal, or equal but for the port of this computer (RFC 8252, section 7.3).
func sameRedirect(registered, asked string) bool {
	if registered == asked {
		return true
	}
	r, ok := parseRedirect(registered)
	a, fine := parseRedirect(asked)
	if !ok || !fine || !isLoopback(r) || !isLoopback(a) {
		return false
	}
	r.Host, a.Host = r.Hostname(), a.Hostname()
	return *r == *a
}

// place is where a redirect leads, for a person: a host, or the scheme of an app.
func place(u *url.URL) string {
	if u.Scheme == "https" {
		return u.Host
	}
	if isLoopback(u) {
		return u.Hostname()
	}
	return u.Scheme + ":"
}

// hostsAllow reports whether a list of hosts has that of a redirect: a host name, "localhost" for
// all names of the person's own computer, or the scheme of an app with its colon. An empty list
// has all.
func hostsAllow(hosts []string, u *url.URL) bool {
	if len(hosts) == 0 {
		return true
	}
	name := strings.ToLower(u.Hostname())
	switch {
	case isLoopback(u):
		name = "localhost"
	case u.Scheme != "https":
		name = u.Scheme + ":"
	}
	return slices.Contains(hosts, name)
}

// formTarget is what a Content-Security-Policy calls where a form may lead. It has no word for an
// IPv6 address, so there the scheme has to do.
func formTarget(u *url.URL) string {
	if u.Scheme != "https" && u.Scheme != "http" {
		return u.Scheme + ":"
	}
	if net.ParseIP(u.Hostname()) != nil && strings.Contains(u.Hostname(), ":") {
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}
