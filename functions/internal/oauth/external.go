package oauth

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/issuer"
	"sekisho/functions/internal/memo"
	"sekisho/functions/internal/outbound"
)

// external is an authorization server that somebody else runs. Here are only pointers to it, and, if
// it says too little of itself, a document that says more: Amazon Cognito's lacks
// code_challenge_methods_supported, without which MCP clients refuse to go on.
type external struct {
	issuer string
	scope  string
	// own: the document is served here, under our own address.
	own      bool
	outbound *outbound.Client
	kept     *memo.Memo[map[string]any]
	now      func() time.Time
}

// Bounds of an issuer's metadata.
const (
	mostMetadata    = 64 << 10
	metadataTimeout = 3 * time.Second
	metadataKept    = 10 * time.Minute
)

// externalFromEnv is nil where the sign-in is our own.
func externalFromEnv(rt boot.Runtime, network outbound.Config) (*external, error) {
	at, err := rt.Env.URL(boot.OAuthIssuer)
	if err != nil || at == "" {
		return nil, err
	}
	own, err := rt.Env.Switch(boot.OAuthOwnMetadata, false)
	if err != nil {
		return nil, err
	}
	// The operator names the issuer, so it may be within the operator's network.
	network.Timeout, network.Attempts, network.MaxBytes, network.AllowPrivate, network.SameOrigin = metadataTimeout, 2, mostMetadata, true, true
	network.Upstream = "issuer"
	client, err := outbound.New(network)
	if err != nil {
		return nil, err
	}
	return &external{issuer: at, scope: rt.Env(boot.OAuthScope), own: own, outbound: client, kept: memo.New[map[string]any](metadataKept), now: rt.Now}, nil
}

// server is the authorization server that clients are led to: the issuer, or our own address, where
// its completed document is.
func (e *external) server(address string) string {
	if e.own {
		return address
	}
	return e.issuer
}

func (e *external) scopes() []string {
	if e.scope == "" {
		return nil
	}
	return []string{e.scope}
}

// metadata is the issuer's document with our address as its issuer, as RFC 8414, section 3.3, wants
// it of a document that is found here. Where the issuer sends iss back (RFC 9207), clients would
// find that it differs, so the document doesn't promise it.
func (e *external) metadata(w http.ResponseWriter, r *http.Request, c *call) error {
	if !e.own {
		return &fault{code: invalidRequest, status: http.StatusNotFound, word: "issuer.elsewhere"}
	}
	m, err := e.fetched(r.Context())
	if err != nil {
		return &fault{code: unavailable, status: http.StatusServiceUnavailable, word: "issuer.unreachable", wait: time.Minute, cause: err}
	}
	m = maps.Clone(m)
	m["issuer"] = c.address
	m["code_challenge_methods_supported"] = []string{s256}
	delete(m, "authorization_response_iss_parameter_supported")
	cacheable(w)
	writeJSON(w, http.StatusOK, m)
	return nil
}

func (e *external) fetched(ctx context.Context) (map[string]any, error) {
	now := e.now()
	if m, ok := e.kept.At(e.issuer, now); ok {
		return m, nil
	}
	var failures []error
	for _, at := range issuer.MetadataURLs(e.issuer) {
		m, err := outbound.Do(ctx, e.outbound, outbound.Request{URL: at, Secrets: []string{}}, outbound.JSON[map[string]any])
		if err == nil && m["issuer"] != e.issuer {
			err = errors.New("the metadata are of another issuer")
		}
		if err == nil && !complete(m) {
			err = errors.New("the metadata have no authorization_endpoint or token_endpoint")
		}
		if err == nil {
			e.kept.Remember(e.issuer, m, now)
			return m, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func complete(m map[string]any) bool {
	return !slices.ContainsFunc([]string{"authorization_endpoint", "token_endpoint"}, func(name string) bool {
		text, ok := m[name].(string)
		return !ok || text == ""
	})
}
