package outbound

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// redirectError is a redirect that isn't followed. It doesn't say where it leads: a
// location can hold credentials.
type redirectError struct {
	status int
	why    string
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirected (HTTP %d) and not followed: %s", e.status, e.why)
}

// redirection is the next URL, nil if resp is not a redirect, or why it isn't followed.
func redirection(resp *http.Response, from *url.URL, method string) (*url.URL, error) {
	location := resp.Header.Get("Location")
	if !isRedirect(resp.StatusCode) || location == "" {
		return nil, nil
	}
	refuse := func(why string) (*url.URL, error) {
		return nil, &redirectError{status: resp.StatusCode, why: why}
	}
	if method != http.MethodGet && method != http.MethodHead {
		return refuse("only GET and HEAD follow redirects")
	}
	next, err := from.Parse(location)
	if err != nil || !callable(next) {
		return refuse("the location is not an http or https URL")
	}
	return next, nil
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// callable: an absolute http or https URL. An international host name has to be in its
// ASCII form (xn--…), as everything below expects it.
func callable(u *url.URL) bool {
	if u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	for _, b := range []byte(u.Host) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return true
}

// sameOrigin compares scheme, host and port: a secret meant for https is not sent to
// the same host over http.
func sameOrigin(a, b *url.URL) bool { return originOf(a) == originOf(b) }

func originOf(u *url.URL) string {
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port(u))
}

// sameHost leaves the scheme out: it decides which addresses may be dialled.
func sameHost(a, b *url.URL) bool {
	return a.Hostname() == b.Hostname() && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
