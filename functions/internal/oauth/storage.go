package oauth

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"
	"github.com/ory/fosite/storage"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/grant"
)

// exchange is fosite's storage and strategy for one request to one endpoint. A grant is one record,
// so it is read once, changed in memory, and put back by Commit in one compare-and-set. If another
// request came first, errors wrap grant.ErrChanged, and the caller starts over with a new exchange.
//
// What fosite calls a signature is the public ID of the token's grant: by it, a token is found.
type exchange struct {
	grants   grant.Store
	keys     account.Store
	now      time.Time
	lifetime lifetime
	// client is who asks.
	client client
	// form is the token request's. presented is the code or token in it.
	form      url.Values
	presented grant.Token
	resources resources

	// consent is what a new grant is made of, at /authorize only.
	consent grant.Request

	// grant is the record as read, changed what it becomes, and pair the tokens that are issued.
	read    bool
	grant   grant.Grant
	changed grant.Grant
	pair    grant.Pair
	// refused is why the token was refused, in our words.
	refused *fault
}

// lifetime of tokens and grants.
type lifetime struct{ access, grant time.Duration }

var (
	_ fosite.ClientManager          = (*exchange)(nil)
	_ oauth2.CoreStorage            = (*exchange)(nil)
	_ oauth2.TokenRevocationStorage = (*exchange)(nil)
	_ oauth2.CoreStrategy           = (*exchange)(nil)
	_ pkce.PKCERequestStorage       = (*exchange)(nil)
	_ storage.Transactional         = (*exchange)(nil)
)

// GetClient returns who asks: it was found before, by the same ID.
func (x *exchange) GetClient(_ context.Context, id string) (fosite.Client, error) {
	if id != x.client.id {
		return nil, fosite.ErrNotFound
	}
	return x.asFosite(x.client.id), nil
}

// asFosite: a public client, whose redirect URI was checked by our own rules.
func (x *exchange) asFosite(id string) fosite.Client {
	return &fosite.DefaultClient{
		ID: id, Public: true, RedirectURIs: []string{x.consent.Redirect}, Scopes: []string{scope},
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}
}

// ClientAssertionJWTValid and SetClientAssertionJWT are for clients that sign assertions; there are none.
func (x *exchange) ClientAssertionJWTValid(context.Context, string) error { return fosite.ErrNotFound }

func (x *exchange) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return fosite.ErrNotFound
}

// CreateAuthorizeCodeSession stores the new grant with its code, redirect and challenge.
func (x *exchange) CreateAuthorizeCodeSession(ctx context.Context, _ string, _ fosite.Requester) error {
	return x.grants.Create(ctx, x.grant)
}

// GetAuthorizeCodeSession redeems the code in memory: whether it may be is the grant's business.
func (x *exchange) GetAuthorizeCodeSession(ctx context.Context, id string, _ fosite.Session) (fosite.Requester, error) {
	return x.exchanged(ctx, id, fosite.ErrInvalidatedAuthorizeCode, grant.Grant.Redeem)
}

// InvalidateAuthorizeCodeSession has happened in memory; Commit stores it.
func (x *exchange) InvalidateAuthorizeCodeSession(context.Context, string) error { return nil }

// CreatePKCERequestSession has nothing to add: the challenge was stored with its code.
func (x *exchange) CreatePKCERequestSession(context.Context, string, fosite.Requester) error {
	return nil
}

// GetPKCERequestSession returns the challenge that came with the code's request.
func (x *exchange) GetPKCERequestSession(ctx context.Context, id string, session fosite.Session) (fosite.Requester, error) {
	return x.GetAuthorizeCodeSession(ctx, id, session)
}

// DeletePKCERequestSession is the code's business.
func (x *exchange) DeletePKCERequestSession(context.Context, string) error { return nil }

// CreateAccessTokenSession has happened in memory; Commit stores it.
func (x *exchange) CreateAccessTokenSession(context.Context, string, fosite.Requester) error {
	return nil
}

// CreateRefreshTokenSession has happened in memory; Commit stores it.
func (x *exchange) CreateRefreshTokenSession(context.Context, string, string, fosite.Requester) error {
	return nil
}

// GetRefreshTokenSession rotates the token in memory.
func (x *exchange) GetRefreshTokenSession(ctx context.Context, id string, _ fosite.Session) (fosite.Requester, error) {
	return x.exchanged(ctx, id, fosite.ErrInactiveToken, grant.Grant.Rotate)
}

// RotateRefreshToken has happened in memory; Commit stores it.
func (x *exchange) RotateRefreshToken(context.Context, string, string) error { return nil }

// GetAccessTokenSession is for revocation only, which has its own.
func (x *exchange) GetAccessTokenSession(context.Context, string, fosite.Session) (fosite.Requester, error) {
	return nil, fosite.ErrNotFound
}

// DeleteAccessTokenSession and DeleteRefreshTokenSession come with RevokeRefreshToken.
func (x *exchange) DeleteAccessTokenSession(context.Context, string) error  { return nil }
func (x *exchange) DeleteRefreshTokenSession(context.Context, string) error { return nil }

// RevokeRefreshToken ends the grant, with all its tokens.
func (x *exchange) RevokeRefreshToken(ctx context.Context, id string) error {
	_, err := grant.End(ctx, x.grants, id, x.now)
	if err != nil && !errors.Is(err, grant.ErrNotFound) {
		x.refused = broken(err) // fosite would make a hint of it
		return err
	}
	return nil
}

// RevokeAccessToken ends the grant too: whoever has one of its tokens may have the others.
func (x *exchange) RevokeAccessToken(ctx context.Context, id string) error {
	return x.RevokeRefreshToken(ctx, id)
}

// BeginTX begins nothing: what was read is compared when it is put back.
func (x *exchange) BeginTX(ctx context.Context) (context.Context, error) { return ctx, nil }

// Commit stores the changed grant, or fails with grant.ErrChanged. After a reuse, RevokeRefreshToken
// has stored its end.
func (x *exchange) Commit(ctx context.Context) error {
	if x.refused != nil {
		return nil
	}
	return x.grants.Put(ctx, x.changed)
}

// Rollback forgets what was in memory only.
func (x *exchange) Rollback(context.Context) error { return nil }

// exchanged reads the grant and exchanges the token that was presented. reused is fosite's name for
// a token that was used before. Other errors are faults, which fosite wraps.
func (x *exchange) exchanged(ctx context.Context, id string, reused error, swap func(grant.Grant, grant.Token, time.Duration, time.Time) (grant.Grant, grant.Pair, error)) (fosite.Requester, error) {
	if !x.read {
		if err := x.load(ctx, id); err != nil {
			return nil, err
		}
		var err error
		if x.changed, x.pair, err = swap(x.grant, x.presented, x.lifetime.access, x.now); err != nil {
			return x.reused(err, reused)
		}
		x.read = true
	}
	return x.requester(), nil
}

func (x *exchange) reused(err, reused error) (fosite.Requester, error) {
	switch {
	case errors.Is(err, grant.ErrReused):
		x.refused = refuse(invalidGrant, "token.reused")
		x.refused.cause = err
		return x.requester(), reused
	case errors.Is(err, grant.ErrExpired):
		return nil, x.refuse("token.expired", err)
	case errors.Is(err, grant.ErrEnded):
		return nil, x.refuse("token.ended", err)
	case errors.Is(err, grant.ErrNotFound):
		return nil, x.refuse("token.unknown", err)
	}
	return nil, err
}

func (x *exchange) refuse(word string, cause error) *fault {
	f := refuse(invalidGrant, word)
	f.cause = cause
	return f
}

// load reads the grant that a token belongs to, and makes sure that the key behind it still works
// and that the tokens are asked for where they may be used.
func (x *exchange) load(ctx context.Context, id string) error {
	if id == "" {
		return x.refuse("token.unknown", grant.ErrMalformed)
	}
	g, err := x.grants.Grant(ctx, id)
	switch {
	case errors.Is(err, grant.ErrNotFound):
		return x.refuse("token.unknown", err)
	case err != nil:
		return broken(err)
	case !g.Family.Equal(x.presented.Family()):
		return x.refuse("token.unknown", grant.ErrNotFound)
	}
	x.grant = g
	if asked := x.form.Get("resource"); asked != "" && !x.resources.same(asked, g.Resource) {
		return refuse(invalidTarget, "target.other", g.Resource)
	}
	return x.keyWorks(ctx)
}

// keyWorks ends a grant whose key was revoked or rotated away.
func (x *exchange) keyWorks(ctx context.Context) error {
	key, err := x.keys.Key(ctx, x.grant.KeyID)
	switch {
	case err == nil && key.Active(x.now):
		return nil
	case err != nil && !errors.Is(err, account.ErrNotFound):
		return broken(err)
	}
	if _, err := grant.End(ctx, x.grants, x.grant.ID, x.now); err != nil {
		return broken(err)
	}
	return x.refuse("token.key", account.ErrInactive)
}

// requester is the request that the grant was made for, in fosite's terms. A token request may leave
// the redirect URI out, as OAuth 2.1 has it; PKCE binds the code. If it has one, it must be the same.
func (x *exchange) requester() fosite.Requester {
	form := url.Values{"code_challenge": {x.grant.Challenge}, "code_challenge_method": {s256}}
	if x.form.Has("redirect_uri") {
		form.Set("redirect_uri", x.grant.Redirect)
	}
	return &fosite.Request{
		ID: x.grant.ID, RequestedAt: x.grant.CreatedAt, Client: x.asFosite(x.grant.Client.ID), Form: form,
		RequestedScope: fosite.Arguments{scope}, GrantedScope: fosite.Arguments{scope},
		Session: &fosite.DefaultSession{Subject: x.grant.KeyID},
	}
}
