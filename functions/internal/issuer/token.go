package issuer

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// skew is how far the issuer's clock may be from ours.
const skew = 30 * time.Second

// maxToken is the longest token, in bytes. API Gateway takes 10,240 of headers in all.
const maxToken = 10_240

// algorithms are those of public keys. Among them is neither "none" nor one with a shared secret, for
// which a public key could be taken.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// types are the typ headers of access tokens: RFC 9068's, and what most issuers write. A token of
// another kind, such as a logout token, has another (RFC 8725, section 3.11).
var types = []string{"", "jwt", "at+jwt", "application/at+jwt"}

// claims are what is read of a token.
type claims struct {
	jwt.Claims
	ClientID        string `json:"client_id"`
	AuthorizedParty string `json:"azp"`
	// Scope is RFC 9068's, SCP what Entra ID and Okta call it.
	Scope scopes `json:"scope"`
	SCP   scopes `json:"scp"`
	// Use is Cognito's.
	Use string `json:"token_use"`
}

// scopes are a list, or one text with spaces between them.
type scopes []string

func (s *scopes) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		*s = strings.Fields(text)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

// client is who got the token, for logs.
func (c claims) client() string {
	if c.ClientID != "" {
		return c.ClientID
	}
	return c.AuthorizedParty
}

// verify reads a token and holds it to the configuration.
func (a *Authenticator) verify(ctx context.Context, token string) (claims, error) {
	c, err := a.signed(ctx, token)
	if err != nil {
		return c, err
	}
	if err := a.holds(c); err != nil {
		return c, err
	}
	if a.Scope != "" && !slices.Contains(c.Scope, a.Scope) && !slices.Contains(c.SCP, a.Scope) {
		return c, &ScopeError{a.Scope}
	}
	return c, nil
}

// signed are the claims of a token that the issuer signed.
func (a *Authenticator) signed(ctx context.Context, token string) (claims, error) {
	if len(token) > maxToken {
		return claims{}, &InvalidError{"The token is too long."}
	}
	t, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(t.Headers) != 1 {
		return claims{}, &InvalidError{"The token is not a JWT that is signed with a public key."}
	}
	header := t.Headers[0]
	if kind, _ := header.ExtraHeaders[jose.HeaderType].(string); !slices.Contains(types, strings.ToLower(kind)) {
		return claims{}, &InvalidError{"The token is not an access token."}
	}
	candidates, err := a.keys.find(ctx, header.KeyID)
	if err != nil {
		return claims{}, err
	}
	for _, key := range candidates {
		var c claims
		if (key.Algorithm == "" || key.Algorithm == header.Algorithm) && t.Claims(key.Key, &c) == nil {
			return c, nil
		}
	}
	return claims{}, &InvalidError{"The token is not signed with a key of " + a.Issuer + "."}
}

// holds checks who made the token, for whom, and when.
func (a *Authenticator) holds(c claims) error {
	if len(c.Audience) == 0 && c.ClientID != "" {
		c.Audience = jwt.Audience{c.ClientID}
	}
	switch err := c.ValidateWithLeeway(jwt.Expected{Issuer: a.Issuer, AnyAudience: a.Audiences, Time: a.Now()}, skew); {
	case err == jwt.ErrInvalidIssuer:
		return &InvalidError{"The token is not of the issuer " + a.Issuer + "."}
	case err == jwt.ErrInvalidAudience:
		return &InvalidError{"The token is not meant for this server: its audience is another."}
	case err == jwt.ErrExpired, err == nil && c.Expiry == nil:
		return &InvalidError{"The token has expired."}
	case err != nil:
		return &InvalidError{"The token is not valid yet."}
	case c.Use != "" && c.Use != "access":
		return &InvalidError{"The token is not an access token."}
	case !CheckSubject(c.Subject):
		return &InvalidError{"The token has no subject that can be shown."}
	}
	return nil
}
