package outbound

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// scrubber takes a request's secrets out of error texts: what an upstream echoes, a
// parser quotes or a transport reports may hold them.
type scrubber struct{ replace *strings.Replacer }

const scrubbed = "[removed]"

// newScrubber collects the user information and query of u and every header value
// that isn't public.
func newScrubber(u *url.URL, h http.Header) scrubber {
	var secrets []string
	add := func(least int, values ...string) {
		for _, v := range values {
			if len(v) >= least {
				secrets = append(secrets, v)
			}
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(1, u.User.String(), password)
		add(4, u.User.Username())
	}
	// A query value of a few letters would make holes in ordinary words.
	add(4, u.RawQuery)
	for _, values := range u.Query() {
		add(4, values...)
		for _, v := range values {
			add(4, url.QueryEscape(v))
		}
	}
	for name, values := range h {
		if slices.Contains(publicHeaders, name) {
			continue
		}
		for _, v := range values {
			add(1, v)
			if _, credentials, ok := strings.Cut(v, " "); ok { // after "Bearer"
				add(1, credentials)
			}
		}
	}
	// The longest first: a secret may begin with another one.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, scrubbed)
	}
	return scrubber{replace: strings.NewReplacer(pairs...)}
}

// clean returns err if its text holds no secret. Otherwise only the cleaned text is
// left: the errors beneath would still tell.
func (s scrubber) clean(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if cleaned := s.replace.Replace(text); cleaned != text {
		return errors.New(cleaned)
	}
	return err
}
