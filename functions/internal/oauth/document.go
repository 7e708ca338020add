package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sekisho/functions/internal/memo"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
)

// Bounds of client documents. The draft recommends 5 KB
// (draft-ietf-oauth-client-id-metadata-document, section 6.6).
const (
	mostDocument    = 5 << 10
	documentTimeout = 4 * time.Second
	// documentKept is how long a document is kept, so that an owner's change is seen soon, and the
	// page and the consent that follows take one request.
	documentKept = 5 * time.Minute
)

// How often one source, and all together, may make an instance fetch a document that it lacks.
var (
	fetchesPerSource = ratelimit.Limit{Burst: 10, PerSecond: 0.2}
	fetchesInAll     = ratelimit.Limit{Burst: 50, PerSecond: 5}
)

// documents fetches the documents of clients, one request each: a client ID is a stranger's URL. The
// outbound client dials public addresses only, looks at the address after the name was resolved,
// and follows nothing, as a single request leaves none for a redirect.
type documents struct {
	outbound         *outbound.Client
	now              func() time.Time
	perSource, inAll *ratelimit.Budget

	kept *memo.Memo[client]
}

func newDocuments(cfg outbound.Config, now func() time.Time) (*documents, error) {
	cfg.Timeout, cfg.Attempts, cfg.MaxBytes = documentTimeout, 1, mostDocument
	c, err := outbound.New(cfg)
	if err != nil {
		return nil, err
	}
	return &documents{
		outbound: c, now: now, kept: memo.New[client](documentKept),
		perSource: ratelimit.NewBudget(fetchesPerSource), inAll: ratelimit.NewBudget(fetchesInAll),
	}, nil
}

// client is who a document describes. Failures are not kept, so that an owner who has mended the
// document can try at once. The error is a *fault.
func (d *documents) client(ctx context.Context, id, source string) (client, error) {
	now := d.now()
	if c, ok := d.kept.At(id, now); ok {
		return c, nil
	}
	if err := d.allow(source, now); err != nil {
		return client{}, err
	}
	u, err := documentURL(id)
	if err != nil {
		return client{}, refuse(invalidClient, "client.url", err.Error())
	}
	c, err := outbound.Do(ctx, d.outbound, outbound.Request{
		URL: id, Attempts: 1, Secrets: []string{}, Header: http.Header{"Accept": {"application/json"}},
	}, func(r outbound.Response) (client, error) { return parseDocument(u, r) })
	if err != nil {
		return client{}, unusable(u, err)
	}
	d.kept.Remember(id, c, now)
	return c, nil
}

func (d *documents) allow(source string, now time.Time) error {
	for _, b := range []struct {
		budget *ratelimit.Budget
		source string
	}{{d.perSource, source}, {d.inAll, ""}} {
		if wait, ok := b.budget.Allow(b.source, now); !ok {
			return tooMany("wait.document", wait)
		}
	}
	return nil
}

// unusable says whether the document or the way to it is at fault, and no more: what a server within
// somebody's network answered is nobody's business.
func unusable(u *url.URL, err error) *fault {
	var parse *outbound.ParseError
	var wrong *documentError
	f := refuse(invalidClient, "document.unreachable", u.Host)
	switch {
	case errors.As(err, &wrong):
		f = refuse(invalidClient, wrong.word, u.Host)
	case errors.Is(err, outbound.ErrTooLarge):
		f = refuse(invalidClient, "document.large", u.Host)
	case errors.As(err, &parse):
		f = refuse(invalidClient, "document.invalid", u.Host)
	}
	f.cause = fmt.Errorf("client document: %w", err)
	return f
}

// documentError is a document that can't be used; word names the sentence about it.
type documentError struct{ word string }

func (e *documentError) Error() string { return e.word }

// document is what this server reads of one. Pictures and links in it are left alone: nothing but
// the host tells who a client is.
type document struct {
	ID            string   `json:"client_id"`
	Name          string   `json:"client_name"`
	Redirects     []string `json:"redirect_uris"`
	Method        string   `json:"token_endpoint_auth_method"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

func parseDocument(u *url.URL, r outbound.Response) (client, error) {
	if r.Status != http.StatusOK {
		return client{}, &documentError{"document.invalid"}
	}
	d, err := outbound.JSON[document](r)
	if err != nil {
		return client{}, &documentError{"document.invalid"}
	}
	return d.client(u)
}

func (d document) client(u *url.URL) (client, error) {
	if d.ID != u.String() {
		return client{}, &documentError{"document.id"}
	}
	if !d.public() {
		return client{}, &documentError{"document.secret"}
	}
	if !d.codeFlow() {
		return client{}, &documentError{"document.flow"}
	}
	c := client{id: d.ID, kind: documented, name: shown(d.Name), host: u.Host}
	for _, redirect := range d.Redirects[:min(len(d.Redirects), mostRedirects)] {
		if _, ok := parseRedirect(redirect); ok {
			c.redirects = append(c.redirects, redirect)
		}
	}
	if len(c.redirects) == 0 {
		return client{}, &documentError{"document.redirects"}
	}
	return c, nil
}

// public: the client can do without authenticating itself. ChatGPT prefers a signed assertion and
// lists "none" beside it.
func (d document) public() bool {
	if len(d.Methods) > 0 {
		return slices.Contains(d.Methods, "none")
	}
	return d.Method == "" || d.Method == "none"
}

func (d document) codeFlow() bool {
	return (len(d.GrantTypes) == 0 || slices.Contains(d.GrantTypes, "authorization_code")) &&
		(len(d.ResponseTypes) == 0 || slices.Contains(d.ResponseTypes, "code"))
}

// String keeps a client out of a log by accident: its name is a stranger's text.
func (c client) String() string {
	text, _ := json.Marshal(c.id) // a string has JSON
	return string(text)
}
