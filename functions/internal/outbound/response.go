package outbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Response is an answer with a 2xx status. Body and Header are as they came, and may
// repeat a secret of the request: show what [Response.Text] and [Response.Public] return.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	// Write: the request was a write, so the status alone says that it was accepted.
	Write bool

	lost  error // why Body is missing, after a write
	scrub scrubber
}

// Text is the body in UTF-8, without a byte order mark and without the request's secrets.
// The error says why there is none: the body was lost on the way, or can't be read.
func (r Response) Text() (string, error) {
	if r.lost != nil {
		return "", r.lost
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "", errors.New("the answer is compressed in a way that was not asked for")
	}
	text, err := decode(r.Body, r.charset())
	if err != nil {
		return "", err
	}
	return r.scrub.clean(text), nil
}

// Public is a header's value without the request's secrets.
func (r Response) Public(header string) string { return r.scrub.clean(r.Header.Get(header)) }

// JSON parses an answer that is JSON, whatever its content type says. An answer that by
// its status has no body (204, 205) is the zero T.
func JSON[T any](r Response) (T, error) {
	var v T
	if r.Status == http.StatusNoContent || r.Status == http.StatusResetContent {
		return v, nil
	}
	text, err := r.Text()
	if err != nil {
		return v, err
	}
	if text == "" {
		return v, errors.New("empty body where JSON was expected")
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, fmt.Errorf("where JSON was expected: %w", err)
	}
	return v, nil
}

// SaysJSON reports whether the content type is JSON (application/json or any +json).
func (r Response) SaysJSON() bool {
	m, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return m == "application/json" || strings.HasSuffix(m, "+json")
}

// charset is the one declared, "" if none is.
func (r Response) charset() string {
	_, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return params["charset"]
}

// RetryAfter is the wait that the answer asks for, 0 if none.
func (r Response) RetryAfter() time.Duration { return retryAfter(r.Header, time.Now()) }
