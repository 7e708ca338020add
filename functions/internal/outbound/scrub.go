package outbound

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// scrubber takes a request's secrets out of whatever an upstream echoes, a parser quotes
// or a transport reports. It finds them under any escaping; see escaped.go.
type scrubber struct{ secrets []string }

const scrubbed = "[removed]"

// newScrubber collects the user information and query of u and every header value
// that isn't public.
func newScrubber(u *url.URL, h http.Header) scrubber {
	var s scrubber
	password, _ := u.User.Password() // user information may be nil
	s.add(1, u.User.String(), password)
	s.add(4, u.User.Username())
	// A query value of a few letters would make holes in ordinary words.
	s.add(4, u.RawQuery)
	for _, values := range u.Query() {
		s.add(4, values...)
	}
	for name, values := range h {
		if slices.Contains(publicHeaders, name) {
			continue
		}
		for _, v := range values {
			_, credentials, _ := strings.Cut(v, " ") // after "Bearer"
			s.add(1, v, credentials)
		}
	}
	return s
}

// add takes the values that have at least that many bytes.
func (s *scrubber) add(least int, values ...string) {
	for _, v := range values {
		if len(v) >= least && !slices.Contains(s.secrets, v) {
			s.secrets = append(s.secrets, v)
		}
	}
}

// clean replaces each secret in text. Those that overlap go together: a secret's tail is
// a secret too.
func (s scrubber) clean(text string) string {
	var out strings.Builder
	end := 0
	for _, found := range s.find(text) {
		if found.start >= end { // else it lengthens the one before
			out.WriteString(text[end:found.start])
			out.WriteString(scrubbed)
		}
		end = max(end, found.end)
	}
	return out.String() + text[end:]
}

// cleanError returns err if its text holds no secret. Otherwise only the cleaned text is
// left, because the errors beneath still hold it.
func (s scrubber) cleanError(err error) error {
	text := err.Error()
	if cleaned := s.clean(text); cleaned != text {
		return errors.New(cleaned)
	}
	return err
}
