// Package oauth is the authorization server of the OAuth door: a person signs in once with an API
// key, and an MCP host that takes no key gets tokens instead (OAuth 2.1, RFC 9728, RFC 8414,
// RFC 7009, RFC 7591, RFC 8707, RFC 9207, client ID metadata documents).
//
// The protocol is ory/fosite's: codes, PKCE, refresh tokens and revocation. What is here is around
// it: who may be a client (client.go, document.go, registration.go), what a person sees before
// consenting (authorize.go, page.go), and where a grant is kept (storage.go, strategy.go).
//
// zitadel/oidc was considered. It answers OpenID Connect only: a request without the scope openid
// is refused, and every token answer has an ID token, which needs a signing key. Here no secret is
// kept at all: tokens are random, and the store has their hashes.
//
// THREATS.md lists what an attacker may try, what meets it, and the test that holds it.
package oauth
