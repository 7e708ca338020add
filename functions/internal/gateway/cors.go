package gateway

// ExposedHeaders are those of an answer that a page may read, beside what every page may.
const ExposedHeaders = "Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate"

// AnyOrigin is who may read the gateway's own answers. A gateway response can't choose by origin:
// its headers take a fixed value or one of the request's, and for an unknown route or a body that
// is too large there is no method to take it from. Nothing is given away: a browser sends no
// credentials to "*", these answers hold nothing but what is wrong with the call, and which pages
// may call /mcp at all its own preflight decides.
const AnyOrigin = "*"
