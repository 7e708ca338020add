package issuer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"go.uber.org/goleak"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rsaKey takes long to make, so all issuers of the tests sign with it or with a key of their own.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// world is an issuer on a port of its own, and an authenticator that trusts it.
type world struct {
	t   *testing.T
	url string
	now time.Time
	// keys are what the issuer publishes, by their IDs.
	keys map[string]any
	// metadata replaces members of what the issuer says of itself; down has it answer 503.
	metadata map[string]any
	down     bool
	// asked counts the requests for keys.
	asked int

	store *sqlite.DB
	ring  account.Keyring
	*Authenticator
}

func newWorld(t *testing.T, change func(*Config)) *world {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	w := &world{t: t, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), keys: map[string]any{"a": rsaKey()}, store: store}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL + "/pool"
	clock := func() time.Time { return w.now }
	w.ring = account.Keyring{Store: store.Accounts(), Plans: account.Plans{"free": usage.PerMonth(5), "paid": usage.PerMonth(50)}, Now: clock}
	keys := account.NewAuthenticator(store.Accounts(), clock, account.DefaultKeyCache)
	c := Config{Issuer: w.url, Audiences: []string{"https://mcp.example/mcp", "client-1"}, Keys: keys, Keyring: w.ring, Now: clock}
	if change != nil {
		change(&c)
	}
	if w.Authenticator, err = New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Authenticator.keys.client.Close)
	return w
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var body any
	switch {
	case w.down:
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/.well-known/oauth-authorization-server/pool":
		m := map[string]any{"issuer": w.url, "jwks_uri": w.url + "/keys"}
		maps.Copy(m, w.metadata)
		body = m
	case r.URL.Path == "/pool/keys":
		w.asked++
		keys := []any{map[string]string{"kty": "unheard-of", "kid": "x"}, map[string]string{"kty": "oct", "kid": "shared", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"}}
		for id, key := range w.keys {
			keys = append(keys, (&jose.JSONWebKey{Key: key, KeyID: id, Use: "sig"}).Public())
		}
		body = map[string]any{"keys": keys}
	default:
		http.NotFound(rw, r)
		return
	}
	_ = json.NewEncoder(rw).Encode(body)
}

type members map[string]any

// token signs what a good token has, changed.
func (w *world) token(change members) string {
	w.t.Helper()
	return w.sign(jose.RS256, rsaKey(), "a", "at+jwt", change)
}

func (w *world) sign(alg jose.SignatureAlgorithm, key any, id, kind string, change members) string {
	w.t.Helper()
	c := members{"iss": w.url, "sub": "alice", "aud": "https://mcp.example/mcp", "exp": w.now.Add(time.Hour).Unix(), "iat": w.now.Unix(), "client_id": "app", "scope": "openid tools"}
	for name, value := range change {
		c[name] = value
		if value == nil {
			delete(c, name)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, (&jose.SignerOptions{}).WithType(jose.ContentType(kind)))
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any(c)).Serialize()
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

func (w *world) authenticate(token string) (account.Key, string, error) {
	return w.Authenticate(w.t.Context(), token, "192.0.2.1")
}

// known gives alice a key, as an operator would.
func (w *world) known() account.Key {
	w.t.Helper()
	if _, err := w.ring.CreateUser(w.t.Context(), "alice", "paid"); err != nil {
		w.t.Fatal(err)
	}
	k, err := w.ring.AddKey(w.t.Context(), KeyHash(w.url, "alice"), "alice", KeyName(w.url, "alice"))
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// TestTokens: who signed it, for whom, when and in what form decides; nothing else does.
func TestTokens(t *testing.T) {
	w := newWorld(t, nil)
	w.known()
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	w.keys["ec"] = other
	hour := func(d time.Duration) int64 { return w.now.Add(d).Unix() }
	published, err := json.Marshal((&jose.JSONWebKey{Key: rsaKey(), KeyID: "a"}).Public())
	if err != nil {
		t.Fatal(err)
	}
	good := w.token(nil)
	head, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	const unsigned = "eyJhbGciOiJub25lIn0" // {"alg":"none"}
	for name, c := range map[string]struct{ token, refused string }{
		"good":                   {good, ""},
		"type JWT":               {w.sign(jose.RS256, rsaKey(), "a", "JWT", nil), ""},
		"another algorithm":      {w.sign(jose.PS256, rsaKey(), "a", "at+jwt", nil), ""},
		"another key":            {w.sign(jose.ES256, other, "ec", "at+jwt", nil), ""},
		"no key ID":              {w.sign(jose.ES256, other, "", "at+jwt", nil), ""},
		"several audiences":      {w.token(members{"aud": []string{"x", "client-1"}}), ""},
		"Cognito's":              {w.token(members{"aud": nil, "client_id": "client-1", "token_use": "access"}), ""},
		"expired within skew":    {w.token(members{"exp": hour(-skew)}), ""},
		"not yet within skew":    {w.token(members{"nbf": hour(skew)}), ""},
		"none":                   {unsigned + "." + body + ".", "signed with a public key"},
		"none, signature kept":   {unsigned + "." + body + "." + signature, "signed with a public key"},
		"public key as secret":   {w.sign(jose.HS256, published, "a", "at+jwt", nil), "signed with a public key"},
		"shared secret":          {w.sign(jose.HS256, []byte("secretsecretsecretsecret12345678"), "shared", "at+jwt", nil), "signed with a public key"},
		"a stranger's key":       {w.sign(jose.ES256, other, "a", "at+jwt", nil), "not signed with a key of"},
		"an unknown key ID":      {w.sign(jose.ES256, other, "b", "at+jwt", nil), "not signed with a key of"},
		"body changed":           {head + "." + body[:len(body)-4] + "AAAA." + signature, "not signed with a key of"},
		"no JWT":                 {"sekisho_at_abc", "not a JWT"},
		"two dots":               {"..", "not a JWT"},
		"long":                   {good + strings.Repeat("A", maxToken), "too long"},
		"another issuer":         {w.token(members{"iss": w.url + "/"}), "not of the issuer"},
		"no issuer":              {w.token(members{"iss": nil}), "not of the issuer"},
		"another audience":       {w.token(members{"aud": "https://other.example"}), "not meant for this server"},
		"client_id beside aud":   {w.token(members{"aud": "https://other.example", "client_id": "client-1"}), "not meant for this server"},
		"no audience":            {w.token(members{"aud": nil}), "not meant for this server"},
		"expired":                {w.token(members{"exp": hour(-skew - time.Second)}), "expired"},
		"no end":                 {w.token(members{"exp": nil}), "expired"},
		"not yet":                {w.token(members{"nbf": hour(skew + time.Second)}), "not valid yet"},
		"ID token of Cognito":    {w.token(members{"aud": "client-1", "token_use": "id"}), "not an access token"},
		"logout token":           {w.sign(jose.RS256, rsaKey(), "a", "logout+jwt", nil), "not an access token"},
		"no subject":             {w.token(members{"sub": nil}), "no subject"},
		"subject with a newline": {w.token(members{"sub": "a\nb"}), "no subject"},
		"subject too long":       {w.token(members{"sub": strings.Repeat("a", 256)}), "no subject"},
		"subject is a number":    {w.token(members{"sub": 7}), "not signed with a key of"},
	} {
		k, client, err := w.authenticate(c.token)
		if c.refused == "" {
			if err != nil || k.UserID != "alice" || k.Plan != "paid" || client == "" {
				t.Errorf("%s: %+v, %q, %v", name, k, client, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.refused) || !errors.Is(err, account.ErrNotFound) || k.ID != "" {
			t.Errorf("%s: %v with %q, want one with %q", name, err, k.ID, c.refused)
		}
	}
}

// TestScopes: in both forms and under both names; a lack is another error than a bad token.
func TestScopes(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Scope = "tools" })
	w.known()
	for name, c := range map[string]struct {
		change members
		has    bool
	}{
		"text":             {members{"scope": "openid tools"}, true},
		"list":             {members{"scope": []string{"openid", "tools"}}, true},
		"Entra ID's":       {members{"scope": nil, "scp": "tools"}, true},
		"Okta's":           {members{"scope": nil, "scp": []string{"tools"}}, true},
		"none":             {members{"scope": nil}, false},
		"a part of a word": {members{"scope": "toolsmith my.tools"}, false},
	} {
		_, _, err := w.authenticate(w.token(c.change))
		lacking := new(ScopeError)
		if (err == nil) != c.has || err != nil && !errors.As(err, &lacking) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSubjects: an unknown one is named, or gets a user and a key of its own at first sight; in
// either case nobody becomes a user who was there before.
func TestSubjects(t *testing.T) {
	w := newWorld(t, nil)
	_, _, err := w.authenticate(w.token(nil))
	if unknown := new(UnknownSubjectError); !errors.As(err, &unknown) || unknown.Subject != "alice" || unknown.Issuer != w.url {
		t.Fatalf("an unknown subject: %v", err)
	}
	w = newWorld(t, func(c *Config) { c.NewUserPlan = "free" })
	if _, err := w.ring.CreateUser(t.Context(), "alice", "paid"); err != nil {
		t.Fatal(err)
	}
	first, _, err := w.authenticate(w.token(nil))
	if err != nil || first.Plan != "free" || !strings.HasPrefix(first.UserID, "alice-") {
		t.Fatalf("a new subject: %+v, %v", first, err)
	}
	again, _, err := w.authenticate(w.token(nil))
	if err != nil || again.ID != first.ID || again.Meter != first.Meter {
		t.Fatalf("the same subject: %+v, %v", again, err)
	}
	if err := w.ring.RevokeKey(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(account.DefaultKeyCache)
	if _, _, err := w.authenticate(w.token(nil)); !errors.Is(err, account.ErrInactive) {
		t.Errorf("a revoked key: %v", err)
	}
}

// TestFirstSightIsFinished: another instance may have made the user, the key or both.
func TestFirstSightIsFinished(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.NewUserPlan = "free" })
	if _, err := w.ring.CreateUser(t.Context(), UserID(w.url, "alice"), "free"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time, as an instance that knows of nothing yet
		if k, err := w.firstSight(t.Context(), "alice", "192.0.2.1"); err != nil || k.UserID != UserID(w.url, "alice") {
			t.Fatalf("%+v, %v", k, err)
		}
	}
}

// TestNewUsersAreBoundedPerSource: an issuer at which anybody can sign up must not fill the table.
func TestNewUsersAreBoundedPerSource(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.NewUserPlan = "free" })
	for i := range account.Unknown.Burst + 1 {
		_, _, err := w.authenticate(w.token(members{"sub": fmt.Sprint("user-", i)}))
		if busy := new(account.ThrottledError); errors.As(err, &busy) != (i == account.Unknown.Burst) {
			t.Fatalf("user %d: %v", i, err)
		}
	}
	if _, _, err := w.authenticate(w.token(members{"sub": "user-0"})); err != nil {
		t.Errorf("one who is known: %v", err)
	}
}

// TestUserIDs are valid, readable, and differ wherever subjects do.
func TestUserIDs(t *testing.T) {
	w := newWorld(t, nil)
	seen := map[string]string{}
	for _, subject := range []string{
		"alice", "Alice", "alice-", "a b", "a-b", "auth0|5f7c8ec7c33c6c004bbafe82", "京都", "...", "@", "it's; rm -rf /", strings.Repeat("x", 255), strings.Repeat("x", 254),
		"f3a1c2d4-0000-4000-8000-000000000001",
	} {
		id := UserID(w.url, subject)
		if other, ok := seen[id]; ok {
			t.Errorf("%q and %q are both %s", subject, other, id)
		}
		seen[id] = subject
		if _, err := w.ring.CreateUser(t.Context(), id, "free"); err != nil {
			t.Errorf("%q: %v", subject, err)
		}
		if err := account.CheckName(KeyName(w.url, subject)); err != nil {
			t.Errorf("%q: %v", subject, err)
		}
	}
	if id := UserID("https://login.example", "f3a1c2d4-0000-4000-8000-000000000001"); !strings.HasPrefix(id, "f3a1c2d4-0000-4000-8000-000000000001-") {
		t.Errorf("%s can't be read", id)
	}
	if KeyHash("https://a.example", "b") == KeyHash("https://a.example/b", "") || KeyHash("https://a.example", "b") == KeyHash("https://b.example", "b") {
		t.Error("two subjects have one key")
	}
}

// TestRotatedKeys: a token with a new key ID is a reason to look, once in a while; a key that was
// withdrawn stops working within the hour.
func TestRotatedKeys(t *testing.T) {
	w := newWorld(t, nil)
	w.known()
	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	works := func(what string, token string, want bool, asked int) {
		t.Helper()
		if _, _, err := w.authenticate(token); (err == nil) != want || w.asked != asked {
			t.Errorf("%s: %v after %d looks, want %v after %d", what, err, w.asked, want, asked)
		}
	}
	signed := func() string { return w.sign(jose.ES256, next, "b", "at+jwt", nil) }
	works("the first token", w.token(nil), true, 1)
	works("a key ID that nobody knows", signed(), false, 1)
	w.keys["b"] = next
	w.now = w.now.Add(pause)
	works("a new key", signed(), true, 2)
	for range 50 {
		works("made-up key IDs", w.sign(jose.ES256, next, "made-up", "at+jwt", nil), false, 2)
	}
	delete(w.keys, "a")
	w.now = w.now.Add(fresh - time.Second)
	works("a withdrawn key within the hour", w.token(nil), true, 2)
	w.now = w.now.Add(time.Second)
	works("a withdrawn key after it", w.token(nil), false, 3)
}

// TestUnreachableIssuer: nobody is signed out because the issuer is away: tokens whose key is known
// work for a day, the others are not judged.
func TestUnreachableIssuer(t *testing.T) {
	w := newWorld(t, nil)
	w.known()
	w.down = true
	unavailable := func(token string) *UnavailableError {
		t.Helper()
		_, _, err := w.authenticate(token)
		u := new(UnavailableError)
		if !errors.As(err, &u) || errors.Is(err, account.ErrNotFound) || u.Wait <= 0 || u.Wait > pause {
			t.Fatalf("%v (%+v)", err, u)
		}
		return u
	}
	unavailable(w.token(nil))
	w.now = w.now.Add(4 * time.Second)
	if u := unavailable(w.token(nil)); u.Wait != pause-4*time.Second {
		t.Errorf("wait %s", u.Wait)
	}
	w.down = false
	w.now = w.now.Add(pause)
	if _, _, err := w.authenticate(w.token(nil)); err != nil {
		t.Fatalf("it is back: %v", err)
	}
	w.down = true
	for _, age := range []time.Duration{fresh, stale - time.Second} {
		w.now = w.keys0().Add(age)
		if _, _, err := w.authenticate(w.token(nil)); err != nil {
			t.Errorf("%s after the last look: %v", age, err)
		}
	}
	w.now = w.keys0().Add(stale)
	unavailable(w.token(nil))
}

// keys0 is when the keys were last loaded.
func (w *world) keys0() time.Time { return w.Authenticator.keys.loaded }

// TestMixedUpIssuer: metadata that name another issuer, or keys that could be changed on the way,
// are not taken.
func TestMixedUpIssuer(t *testing.T) {
	for name, metadata := range map[string]map[string]any{
		"another issuer": {"issuer": "https://login.example"},
		"keys by http":   {"jwks_uri": "http://login.example/keys"},
		"no keys":        {"jwks_uri": ""},
	} {
		w := newWorld(t, nil)
		w.metadata = metadata
		if _, _, err := w.authenticate(w.token(nil)); !errors.As(err, new(*UnavailableError)) || w.asked != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigurations that could not work, or would let everybody in, are refused at the start.
func TestConfigurations(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no scheme":      func(c *Config) { c.Issuer = "login.example" },
		"plain http":     func(c *Config) { c.Issuer = "http://login.example" },
		"query":          func(c *Config) { c.Issuer = "https://login.example?a=b" },
		"no audience":    func(c *Config) { c.Audiences = nil },
		"plan not there": func(c *Config) { c.NewUserPlan = "gold" },
	} {
		c := Config{Issuer: "https://login.example", Audiences: []string{"a"}, Keyring: account.Keyring{Plans: account.Plans{"free": usage.PerMonth(1)}}}
		change(&c)
		if a, err := New(c); err == nil {
			t.Errorf("%s: %+v", name, a.Config)
		}
	}
}

// FuzzToken: no text breaks the reader, and none gets in.
func FuzzToken(f *testing.F) {
	f.Add("eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ.e30.AAAA")
	f.Add("{\"payload\":\"e30\",\"signatures\":[]}")
	a, err := New(Config{Issuer: "http://127.0.0.1:1", Audiences: []string{"a"}, Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	a.keys.keys, a.keys.loaded = []jose.JSONWebKey{{Key: rsaKey().Public(), KeyID: "a"}}, time.Now()
	a.keys.looked = time.Now()
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := a.verify(t.Context(), token); err == nil {
			t.Errorf("%q is accepted", token)
		}
	})
}
