package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"

	"sekisho/functions/internal/outbound"
)

const (
	// fresh is how long the issuer's keys are trusted without a look: what it withdraws stops working
	// within that.
	fresh = time.Hour
	// stale is how long they are while the issuer can't be reached.
	stale = 24 * time.Hour
	// pause is the least time between two looks, whatever tokens come: an unknown key ID is a reason
	// for one, and anybody can make those up.
	pause = 10 * time.Second
	// patience is the longest look. The caller's call still has to fit into its time.
	patience = 5 * time.Second

	// maxDocument bounds each of the issuer's documents, in bytes, and maxKeys what is kept of them.
	maxDocument = 256 << 10
	maxKeys     = 64
)

// keySet is the issuer's keys, as of the last look.
type keySet struct {
	issuer string
	client *outbound.Client
	now    func() time.Time
	// turn is taken by whoever reads or writes what follows: while one looks, the others wait.
	turn           chan struct{}
	keys           []jose.JSONWebKey
	loaded, looked time.Time
	// failed is why the last look failed; nil if it did not.
	failed error
}

func newKeySet(issuer string, now func() time.Time) (*keySet, error) {
	client, err := outbound.New(outbound.Config{
		Upstream: "issuer", Attempts: 2, Timeout: patience / 2, MaxBytes: maxDocument, SameOrigin: true,
		AllowPrivate: true, // the owner names it, and trusts it with all keys
	})
	if err != nil {
		return nil, err
	}
	return &keySet{issuer: issuer, client: client, now: now, turn: make(chan struct{}, 1)}, nil
}

// find returns the keys of an ID; without an ID, all. There may be none: the error says only that
// the issuer can't be asked.
func (s *keySet) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, &UnavailableError{pause, ctx.Err()}
	}
	now := s.now()
	if found := s.known(id); len(found) > 0 && now.Sub(s.loaded) < fresh {
		return found, nil
	}
	if now.Sub(s.looked) >= pause {
		s.looked = now
		s.look(ctx, now)
	}
	found := s.known(id)
	if s.failed != nil && (len(found) == 0 || now.Sub(s.loaded) >= stale) {
		return nil, &UnavailableError{s.looked.Add(pause).Sub(now), s.failed}
	}
	return found, nil
}

func (s *keySet) known(id string) (found []jose.JSONWebKey) {
	for _, key := range s.keys {
		if id == "" || key.KeyID == id {
			found = append(found, key)
		}
	}
	return found
}

func (s *keySet) look(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	keys, err := s.load(ctx)
	if s.failed = err; err == nil {
		s.keys, s.loaded = keys, now
	}
}

func (s *keySet) load(ctx context.Context) ([]jose.JSONWebKey, error) {
	at, err := s.discover(ctx)
	if err != nil {
		return nil, err
	}
	set, err := outbound.Do(ctx, s.client, outbound.Request{URL: at}, outbound.JSON[struct {
		Keys []json.RawMessage `json:"keys"`
	}])
	if err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		// What is for encryption, or of a kind that is not known here, is none of ours.
		if json.Unmarshal(raw, &key) == nil && key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig") && len(keys) < maxKeys {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("the issuer's JWKS has no key to check signatures with")
	}
	return keys, nil
}

// discover finds where the issuer's keys are.
func (s *keySet) discover(ctx context.Context) (string, error) {
	var failures []error
	for _, at := range MetadataURLs(s.issuer) {
		m, err := outbound.Do(ctx, s.client, outbound.Request{URL: at}, outbound.JSON[struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}])
		if err != nil {
			failures = append(failures, err)
			if missing := new(outbound.StatusError); errors.As(err, &missing) && missing.Status == http.StatusNotFound {
				continue
			}
			break
		}
		u, err := url.Parse(m.Keys)
		switch {
		case m.Issuer != s.issuer: // RFC 8414, section 3.3
			return "", fmt.Errorf("the metadata are of the issuer %q, not %q", m.Issuer, s.issuer)
		case err != nil || !private(u):
			return "", errors.New("the metadata have no jwks_uri with https")
		}
		return m.Keys, nil
	}
	return "", errors.Join(failures...)
}
