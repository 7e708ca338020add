package oauth

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// fault is why a request was refused. Clients get its code and its English sentence, people the
// sentence in their language. Neither ever has a key, a token, a code or a state in it.
type fault struct {
	// code is of RFC 6749, section 5.2, or of the RFC that adds one.
	code string
	// status is 400 unless said otherwise.
	status int
	// word names the sentence; args fill it in.
	word string
	args []any
	// wait is when to try again, 0 for never.
	wait time.Duration
	// cause is for the log.
	cause error
}

func (f *fault) Error() string { return f.in(english) }
func (f *fault) Unwrap() error { return f.cause }

// in is the sentence in a language.
func (f *fault) in(l language) string { return l.say(f.word, f.args...) }

func (f *fault) httpStatus() int {
	if f.status == 0 {
		return http.StatusBadRequest
	}
	return f.status
}

// retryAfter says when to try again, if ever.
func (f *fault) retryAfter(h http.Header) {
	if f.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.wait.Seconds()))))
	}
}

// Codes of errors: RFC 6749, sections 4.1.2.1 and 5.2; RFC 7591, section 3.2.2; RFC 8707.
const (
	invalidRequest      = "invalid_request"
	invalidClient       = "invalid_client"
	invalidGrant        = "invalid_grant"
	unauthorizedClient  = "unauthorized_client"
	accessDenied        = "access_denied"
	serverError         = "server_error"
	unavailable         = "temporarily_unavailable"
	invalidTarget       = "invalid_target"
	invalidRedirect     = "invalid_redirect_uri"
	invalidMetadata     = "invalid_client_metadata"
	unsupportedGrant    = "unsupported_grant_type"
	unsupportedResponse = "unsupported_response_type"
	loginRequired       = "login_required"
	requestUnsupported  = "request_not_supported"
)

func refuse(code, word string, args ...any) *fault { return &fault{code: code, word: word, args: args} }

// broken is a failure of ours, or of the store.
func broken(err error) *fault {
	return &fault{code: serverError, status: http.StatusInternalServerError, word: "server", cause: err}
}

// tooMany asks to wait. There is no code for it in RFC 6749: the status says it.
func tooMany(word string, wait time.Duration) *fault {
	wait = max(wait, time.Second)
	return &fault{code: unavailable, status: http.StatusTooManyRequests, word: word, wait: wait, args: []any{int(math.Ceil(wait.Seconds()))}}
}

// failure is the JSON of RFC 6749, section 5.2.
type failure struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// writeJSON answers with JSON that nobody may keep.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("an answer has no JSON: %T", v))
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // it is kept in memory
}

// write answers a client.
func (f *fault) write(w http.ResponseWriter) {
	f.retryAfter(w.Header())
	if f.httpStatus() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="sekisho"`) // RFC 6749, section 5.2
	}
	writeJSON(w, f.httpStatus(), failure{f.code, f.in(english)})
}
