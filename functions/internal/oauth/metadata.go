package oauth

import (
	"net/http"
	"slices"
	"strings"

	"sekisho/functions/internal/gateway"
)

// resources are the addresses that tokens are for: the door's, by each name that a user may have typed.
type resources string

// main is the address that is meant where none is said.
func (r resources) main() string { return string(r) + mcpPath }

// canonical is the resource that a client means; ok is false if it is none of this door's. Scheme and
// host may come in any case (RFC 3986, section 6.2.2.1).
func (r resources) canonical(asked string) (resource string, ok bool) {
	if asked == "" {
		return r.main(), true
	}
	if len(asked) < len(r) || !strings.EqualFold(asked[:len(r)], string(r)) || !has([]string{mcpPath, mcpPath + "/", "", "/"}, asked[len(r):]) {
		return "", false
	}
	return r.main(), true
}

// same reports whether a client means the resource of its grant.
func (r resources) same(asked, granted string) bool {
	resource, ok := r.canonical(asked)
	return ok && resource == granted
}

// protectedResource is RFC 9728, section 2.
type protectedResource struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

// resourceMetadata says that the resource is the address whose metadata was asked for: clients compare
// it with what their user typed.
func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request, c *call) error {
	path := strings.TrimPrefix(r.URL.Path, gateway.ResourceMetadata)
	if path == "" {
		path = mcpPath
	}
	m := protectedResource{Resource: c.address + path, Servers: []string{c.address}, Scopes: []string{scope}, Methods: []string{"header"}, Name: "Sekisho"}
	if s.external != nil {
		m.Servers, m.Scopes = []string{s.external.server(c.address)}, s.external.scopes()
	}
	cacheable(w)
	writeJSON(w, http.StatusOK, m)
	return nil
}

// authorizationServer is RFC 8414, section 2, with RFC 9207 and the draft on client documents.
type authorizationServer struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint,omitempty"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	ResponseTypes []string `json:"response_types_supported"`
	ResponseModes []string `json:"response_modes_supported"`
	GrantTypes    []string `json:"grant_types_supported"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	RevokeMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	ISS           bool     `json:"authorization_response_iss_parameter_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	Locales       []string `json:"ui_locales_supported"`
}

// serverMetadata serves RFC 8414's document and its OpenID twin, which some clients ask for first.
func (s *Server) serverMetadata(w http.ResponseWriter, r *http.Request, c *call) error {
	if s.external != nil {
		return s.external.metadata(w, r, c)
	}
	m := authorizationServer{
		Issuer: c.address, Authorization: c.address + authorizePath, Token: c.address + tokenPath, Revocation: c.address + revokePath,
		Scopes: []string{scope}, ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, Methods: []string{"none"}, RevokeMethods: []string{"none"},
		Challenges: []string{s256}, ISS: true, Documents: true, Locales: []string{string(english), string(japanese)},
	}
	if s.clients.registration {
		m.Registration = c.address + registerPath
	}
	cacheable(w)
	writeJSON(w, http.StatusOK, m)
	return nil
}

// cacheable: metadata change with a deployment only.
func cacheable(w http.ResponseWriter) { w.Header().Set("Cache-Control", "public, max-age=300") }

func has(list []string, s string) bool { return slices.Contains(list, s) }
func join(list []string) string        { return strings.Join(list, ", ") }
