package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// kind is how a client came to be known.
type kind int

const (
	// registered by the operator of this server.
	registered kind = iota
	// documented at a URL, which is its ID: whoever answers there vouches for it.
	documented
	// dynamic: it registered itself, and nobody vouches for it.
	dynamic
)

// client is who asks for a grant. All are public: none has a secret, and PKCE binds a code to
// whoever asked for it.
type client struct {
	// id is what a grant keeps and a log shows.
	id   string
	kind kind
	// name is what it calls itself, fit to be shown; "" if it doesn't say.
	name string
	// host vouches for it: that of its document; "" for the others.
	host      string
	redirects []string
}

// allows reports whether the client may be answered at a redirect URI.
func (c client) allows(redirect string) bool {
	for _, own := range c.redirects {
		if sameRedirect(own, redirect) {
			return true
		}
	}
	return false
}

// policy is which clients an operator lets in.
type policy struct {
	// registered are clients by their IDs.
	registered map[string]client
	// documentHosts may vouch for clients, and redirectHosts be answered by those that register
	// themselves; empty for any.
	documentHosts, redirectHosts []string
	// registration says that clients may register themselves.
	registration bool
}

// mostID bounds a client ID: it travels in a query.
const mostID = 2048

// clients finds who a client ID means.
type clients struct {
	policy
	documents *documents
	now       func() time.Time
}

// find is for a sign-in: it asks for the client's document, on behalf of source. The error is a
// *fault.
func (c *clients) find(ctx context.Context, id, source string) (client, error) {
	if known, ok := c.registered[id]; ok {
		return known, nil
	}
	known, err := c.recognise(id)
	if err != nil || known.kind != documented {
		return known, err
	}
	return c.documents.client(ctx, id, source)
}

// recognise is for everything after it: the grant has who it was made for, so a client whose
// document is out of reach can still refresh its tokens, and nobody can make this server fetch
// something by asking for a token. A client that the operator no longer lets in isn't recognised.
func (c *clients) recognise(id string) (client, error) {
	if known, ok := c.registered[id]; ok {
		return known, nil
	}
	switch {
	case id == "":
		return client{}, refuse(invalidRequest, "client.missing")
	case len(id) > mostID:
		return client{}, refuse(invalidClient, "client.unknown")
	case strings.HasPrefix(id, registrationPrefix):
		return c.selfRegistered(id)
	case strings.HasPrefix(id, "https://"):
		u, err := documentURL(id)
		if err != nil {
			return client{}, refuse(invalidClient, "client.url", err.Error())
		}
		if len(c.documentHosts) > 0 && !contains(c.documentHosts, u.Hostname()) {
			return client{}, refuse(invalidClient, "client.host", u.Hostname())
		}
		return client{id: id, kind: documented, host: u.Host}, nil
	}
	return client{}, refuse(invalidClient, "client.unknown")
}

func contains(hosts []string, name string) bool {
	for _, host := range hosts {
		if strings.EqualFold(host, name) {
			return true
		}
	}
	return false
}

// parseClients reads SEKISHO_OAUTH_CLIENTS: a JSON object of {"name", "redirect_uris"} by client ID.
func parseClients(text string) (map[string]client, error) {
	var listed map[string]struct {
		Name      string   `json:"name"`
		Redirects []string `json:"redirect_uris"`
	}
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &listed); err != nil {
		return nil, errors.New(`want a JSON object such as {"my-client":{"name":"My client","redirect_uris":["https://example.com/callback"]}}`)
	}
	known := map[string]client{}
	for id, c := range listed {
		if id == "" || len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) ||
			strings.HasPrefix(id, "https:") || strings.HasPrefix(id, registrationPrefix) {
			return nil, fmt.Errorf("client %q: an ID has 1 to 128 printable ASCII characters, and starts with neither https: nor %s (which mean other clients)", id, registrationPrefix)
		}
		if len(c.Redirects) == 0 {
			return nil, fmt.Errorf("client %q: redirect_uris is empty", id)
		}
		for _, redirect := range c.Redirects {
			if _, ok := parseRedirect(redirect); !ok {
				return nil, fmt.Errorf("client %q: the redirect URI %q is not https, http to localhost, or an app's scheme such as com.example.app", id, redirect)
			}
		}
		known[id] = client{id: id, kind: registered, name: shown(c.Name), redirects: c.Redirects}
	}
	return known, nil
}

// parseHosts reads a list of hosts in lower case.
func parseHosts(list []string) ([]string, error) {
	for i, host := range list {
		list[i] = strings.ToLower(host)
		scheme, isScheme := strings.CutSuffix(list[i], ":")
		if !hostName.MatchString(list[i]) && !(isScheme && scheme != "") {
			return nil, fmt.Errorf("%q is none of these: a host name such as example.com, localhost, an app's scheme with its colon (cursor:)", host)
		}
	}
	return list, nil
}

// mostName is how much of a name people see.
const mostName = 60

// shown is a name that a stranger chose, fit for a page and a log: one line of visible characters,
// nothing that turns the direction of writing or hides, and no piles of accents.
func shown(name string) string {
	var b strings.Builder
	marks, count, space := 0, 0, false
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case !unicode.IsGraphic(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || invisible(r) || r == unicode.ReplacementChar:
			continue
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > 2 || b.Len() == 0 {
				continue
			}
		default:
			marks = 0
		}
		if count++; count > mostName {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// invisible are letters and marks that show nothing: Hangul fillers, variation selectors, a Braille
// blank.
func invisible(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return true
	}
	return unicode.In(r, unicode.Variation_Selector)
}

var shortID = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// short is an ID for what is too long for a log and a list; equal texts have equal ones.
func short(text string) string {
	hash := sha256.Sum256([]byte(text))
	return shortID.EncodeToString(hash[:20])
}

// documentURL checks a client ID that is the URL of its document. What a person is shown is its host,
// so that is a name on the internet, and nothing in the URL can be read in two ways.
func documentURL(id string) (*url.URL, error) {
	u, err := url.Parse(id)
	switch {
	case len(id) > mostRedirect:
		return nil, fmt.Errorf("it is longer than %d characters", mostRedirect)
	case err != nil || u.Scheme != "https" || u.String() != id:
		return nil, errors.New("it is not a plain https URL")
	case u.User != nil || strings.Contains(id, "#"):
		return nil, errors.New("it has user information or a fragment")
	case u.Path == "" || u.Path == "/":
		return nil, errors.New("it has no path")
	case strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./") || strings.ContainsAny(id, `\%`):
		return nil, errors.New("its path has dots to resolve, or escapes")
	case !onInternet.MatchString(u.Hostname()) || strings.HasSuffix(u.Host, ":"):
		return nil, errors.New("its host is not a name on the internet")
	}
	return u, nil
}
