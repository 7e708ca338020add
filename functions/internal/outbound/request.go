package outbound

import (
	"bytes"
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sekisho/functions/internal/trace"
)

// Request says what to call. It may be used again.
type Request struct {
	Method string // default GET
	URL    string // absolute, http or https, the host in ASCII; user information becomes Basic authorization
	Header http.Header
	Body   []byte
	// Token is sent as "Authorization: Bearer …", and to no other origin.
	Token string
	// Idempotent says that the call may be repeated although its method promises
	// nothing. GET, HEAD, OPTIONS, TRACE, PUT and DELETE promise it (RFC 9110, 9.2.2).
	Idempotent bool
	// IdempotencyKey goes along as Idempotency-Key (draft-ietf-httpapi-idempotency-
	// key-header), the same for every attempt, and lets them be repeated after an
	// ambiguous failure. Printable ASCII. If the key follows from the content, so that
	// an agent's next call has the same one, set Idempotent too.
	IdempotencyKey string
	// Attempts is the most that this call may make, below Config.Attempts: what is left
	// when a call is made anew, with another token say. 0 leaves it at that.
	Attempts int
	// Secrets, unless nil, are what is taken out of all that comes back, besides the user
	// information of the URL. If nil, these are the query and every header that isn't known
	// to be public: too much where the arguments of a caller travel there, as "Tokyo" would
	// then be removed from the answer to a question about Tokyo.
	Secrets []string
	// KeepRefusals keeps the answer that came with a 4xx, in [StatusError.Answer].
	KeepRefusals bool
	// Sign, if set, adds headers to each request on the wire, retries and redirects too, but
	// to no other origin. It returns what of it is secret, "" for nothing.
	Sign func(*http.Request) (secret string)
	// Gate, if set, is passed before every attempt, the retries too: a rate limit
	// belongs here, as upstreams count retries like any other call. Its context ends
	// early enough to leave time for an attempt. An error stops the call; if it
	// has a method RetryAfter() time.Duration, that is the wait that the agent reads.
	Gate func(context.Context) error
	// Observe, if set, is called with every attempt when it has ended, before the wait
	// that follows.
	Observe func(Attempt)
}

// prepared is a request that was checked, with its secrets taken aside.
type prepared struct {
	method     string
	url        *url.URL // without user information
	header     http.Header
	body       []byte
	idempotent bool // by its method, or because the caller says so
	scrub      scrubber

	sign         func(*http.Request) string
	keepRefusals bool
}

// repeatable: sending it twice does no harm. A key protects the attempts of this call
// alone: the next call may carry another one.
func (p *prepared) repeatable() bool {
	return p.idempotent || p.header.Get("Idempotency-Key") != ""
}

// errRequest is a request that can't be sent. Its text never quotes the URL.
type errRequest struct{ text string }

func (e *errRequest) Error() string { return e.text }

func (r Request) prepare() (*prepared, error) {
	u, err := url.Parse(r.URL)
	if err != nil || !callable(u) {
		return nil, &errRequest{"the upstream's URL is not an absolute http or https URL with a host in ASCII"}
	}
	p := &prepared{method: orDefault(strings.ToUpper(r.Method), http.MethodGet), body: r.Body}
	if _, err := http.NewRequest(p.method, "http://upstream/", nil); err != nil {
		return nil, &errRequest{"the method is not valid"}
	}
	p.header, err = r.headers(u.User)
	if err != nil {
		return nil, err
	}
	if !sendable(p.header) {
		return nil, &errRequest{"a header holds a character that can't be sent"}
	}
	p.sign, p.keepRefusals = r.Sign, r.KeepRefusals
	p.scrub = newScrubber(u, p.header)
	if r.Secrets != nil {
		p.scrub = newScrubber(&url.URL{User: u.User}, nil)
		for _, secret := range r.Secrets {
			p.scrub.add(1, secret)
		}
	}
	u.User = nil
	p.url = u
	p.idempotent = r.Idempotent || idempotentMethod(p.method)
	return p, nil
}

func (r Request) headers(user *url.Userinfo) (http.Header, error) {
	h := r.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "sekisho")
	}
	if user != nil && h.Get("Authorization") == "" {
		password, _ := user.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if r.Token != "" {
		h.Set("Authorization", "Bearer "+r.Token)
	}
	if r.IdempotencyKey != "" {
		key, err := structuredString(r.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		h.Set("Idempotency-Key", key)
	}
	return h, nil
}

// structuredString is the form that the draft asks for: RFC 8941's String, in quotes.
func structuredString(s string) (string, error) {
	for _, b := range []byte(s) {
		if b < 0x20 || b > 0x7e {
			return "", &errRequest{"the idempotency key holds a character that is not printable ASCII"}
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`, nil
}

// sendable checks names and values by RFC 9110, 5.1 and 5.5: net/http would find out
// only once there is a connection.
func sendable(h http.Header) bool {
	for name, values := range h {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
		}) {
			return false
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return false
			}
		}
	}
	return true
}

// safe methods ask for nothing to be changed (RFC 9110, 9.2.1). All others are writes.
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// idempotentMethod: RFC 9110, 9.2.2.
func idempotentMethod(method string) bool {
	return safe(method) || method == http.MethodPut || method == http.MethodDelete
}

// build makes the request of one hop.
func (p *prepared) build(ctx context.Context, u *url.URL) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, p.method, u.String(), bytes.NewReader(p.body))
	if err != nil {
		// The cause quotes the URL.
		return nil, &errRequest{"the upstream's URL is not valid"}
	}
	req.Header = p.header.Clone()
	if !sameOrigin(u, p.url) {
		keepOnly(req.Header, publicHeaders)
		return req, nil
	}
	trace.Inject(ctx, req.Header)
	if p.sign != nil {
		p.scrub.add(1, p.sign(req))
	}
	return req, nil
}

// publicHeaders are those that hold no secret. All others stay with the origin that
// they were meant for.
var publicHeaders = []string{"Accept", "Accept-Language", "Content-Type", "User-Agent", "Idempotency-Key"}

func keepOnly(h http.Header, names []string) {
	maps.DeleteFunc(h, func(name string, _ []string) bool { return !slices.Contains(names, name) })
}
