package outbound

import (
	"fmt"
	"net/http"
	"net/url"
)

// maxRedirects is how many are followed within one attempt.
const maxRedirects = 5

// redirectError is a redirect that isn't followed. It doesn't say where to: a
// location can hold credentials.
type redirectError struct {
	status int
	why    string
}

func (e *redirectError) Error() string {
	return fmt.Sprintf("redirected (HTTP %d) and not followed: %s", e.status, e.why)
}

// redirection is the next URL, nil if resp is no redirect, or why it isn't followed.
func redirection(resp *http.Response, from *url.URL, method string, followed int) (*url.URL, error) {
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
	if followed == maxRedirects {
		return refuse(fmt.Sprintf("more than %d redirects", maxRedirects))
	}
	next, err := from.Parse(location)
	if err != nil || next.Host == "" || (next.Scheme != "http" && next.Scheme != "https") {
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

// sameOrigin compares scheme, host and port: a secret meant for https is not sent to
// the same host over http.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
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
