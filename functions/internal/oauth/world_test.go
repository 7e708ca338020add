package oauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"html"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
)

const (
	door       = "https://oauth.example"
	verifier   = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" // RFC 7636, appendix B
	challenged = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
)

var began = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// certificate is of a CA that the process trusts: TestMain makes it before anything asks for the
// system's roots.
var certificate tls.Certificate

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sekisho-oauth")
	if err == nil {
		err = trust(filepath.Join(dir, "ca.pem"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // a temporary directory
	os.Exit(code)
}

func trust(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		DNSNames:    []string{"chatgpt.com", "claude.ai", "app.example", "other.example", "localhost", "idp.example"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		return err
	}
	certificate = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	if err := os.Setenv("SSL_CERT_FILE", file); err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// web serves the documents of all hosts, with TLS, on 127.0.0.1.
type web struct {
	*httptest.Server
	mu       sync.Mutex
	pages    map[string]http.HandlerFunc // by host and path
	requests atomic.Int64
}

func newWeb(t testing.TB) *web {
	t.Helper()
	w := &web{pages: map[string]http.HandlerFunc{}}
	w.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		w.mu.Lock()
		page := w.pages[r.Host+r.URL.Path]
		w.mu.Unlock()
		if page == nil {
			http.NotFound(rw, r)
			return
		}
		page(rw, r)
	}))
	w.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	w.StartTLS()
	t.Cleanup(w.Close)
	return w
}

func (w *web) serve(at string, page http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[strings.TrimPrefix(at, "https://")] = page
}

// document serves JSON.
func (w *web) document(at string, document map[string]any) {
	w.serve(at, func(rw http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(rw).Encode(document) })
}

func (w *web) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, w.Listener.Addr().String())
}

// world is a deployment with one user and key.
type world struct {
	t       testing.TB
	web     *web
	store   *sqlite.DB
	invoker boot.Invoker
	server  *Server
	logs    *observer.ObservedLogs
	clock   time.Time
	key, id string
	keyring account.Keyring
	from    string
	headers map[string]string
}

// option changes what a deployment is made of.
type option struct {
	env     map[string]string
	network func(*web) outbound.Config
}

func newWorld(t testing.TB, o option) *world {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	core, logs := observer.New(zapcore.DebugLevel)
	w := &world{t: t, web: newWeb(t), store: db, logs: logs, clock: began, from: "192.0.2.7"}
	w.keyring = account.Keyring{Store: db.Accounts(), Plans: account.Plans{"free": {}}, Now: w.now}
	if _, err := w.keyring.CreateUser(t.Context(), "ann", "free"); err != nil {
		t.Fatal(err)
	}
	w.key, w.id = w.newKey()
	network := outbound.Config{Dial: w.web.dial}
	if o.network != nil {
		network = o.network(w.web)
	}
	rt := boot.Runtime{Function: "oauth", Env: boot.Map(o.env), Log: zap.New(core), Now: w.now}
	w.server, err = newServer(rt, func(boot.Env, ...string) (store.Store, error) { return db, nil }, network)
	if err != nil {
		t.Fatal(err)
	}
	w.invoker = gateway.Handler(w.server, func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) })
	return w
}

func (w *world) now() time.Time { return w.clock }

func (w *world) newKey() (text, id string) {
	w.t.Helper()
	secret, k, err := w.keyring.CreateKey(context.WithoutCancel(w.t.Context()), "ann", "test")
	if err != nil {
		w.t.Fatal(err)
	}
	return secret.Reveal(), k.ID
}

// answer is that of an HTTP API.
type answer struct {
	StatusCode int               `json:"statusCode"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
	Cookies    []string          `json:"cookies"`
}

// do sends a request as an HTTP API hands it over.
func (w *world) do(method, path, query, body string, headers map[string]string) answer {
	w.t.Helper()
	sent := map[string]string{"host": "oauth.example"}
	maps.Copy(sent, w.headers)
	maps.Copy(sent, headers)
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "ANY " + path, "rawPath": path, "rawQueryString": query, "headers": sent, "body": body,
		"stageVariables": map[string]string{gateway.OAuthAddress: door},
		"requestContext": map[string]any{
			"domainName": "oauth.example", "requestId": "JKJaXmPLvHcESHA=", "stage": "$default",
			"http": map[string]string{"method": method, "path": path, "sourceIp": w.from, "userAgent": "test", "protocol": "HTTP/1.1"},
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	raw, err := w.invoker.Invoke(context.Background(), event)
	if err != nil {
		w.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		w.t.Fatal(err)
	}
	if len(a.Cookies) > 0 {
		w.t.Errorf("%s sets cookies", path)
	}
	return a
}

func (w *world) get(path string, query url.Values) answer {
	w.t.Helper()
	return w.do(http.MethodGet, path, query.Encode(), "", nil)
}

func (w *world) post(path string, form url.Values) answer {
	w.t.Helper()
	return w.do(http.MethodPost, path, "", form.Encode(), map[string]string{"content-type": "application/x-www-form-urlencoded"})
}

const (
	appID   = "https://app.example/client.json"
	appBack = "https://app.example/back"
)

// app serves the document of an honest client.
func (w *world) app() {
	w.web.document(appID, map[string]any{"client_id": appID, "client_name": "App", "redirect_uris": []string{appBack, "http://127.0.0.1/back"}, "token_endpoint_auth_method": "none"})
}

// request is an authorization request of the app; changes are pairs, and "" takes one out.
func request(changes ...string) url.Values {
	q := url.Values{
		"response_type": {"code"}, "client_id": {appID}, "redirect_uri": {appBack}, "state": {"xyzzy"},
		"code_challenge": {challenged}, "code_challenge_method": {"S256"}, "resource": {door + "/mcp"}, "scope": {"mcp"},
	}
	return with(q, changes...)
}

func with(q url.Values, changes ...string) url.Values {
	q = maps.Clone(q)
	for i := 0; i < len(changes); i += 2 {
		if q.Del(changes[i]); changes[i+1] != "" {
			q.Set(changes[i], changes[i+1])
		}
	}
	return q
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form is what the page would send.
func form(page answer) url.Values {
	fields := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(page.Body, -1) {
		fields.Add(html.UnescapeString(m[1]), html.UnescapeString(m[2]))
	}
	return fields
}

// consent goes through the page as a person with the key, and returns the address it leads to.
func (w *world) consent(query url.Values) *url.URL {
	w.t.Helper()
	page := w.get(authorizePath, query)
	if page.StatusCode != http.StatusOK {
		w.t.Fatalf("the page: %d %s %s", page.StatusCode, page.Headers["Location"], page.Body)
	}
	back := w.location(w.post(authorizePath, with(form(page), keyField, w.key, decisionField, allow)))
	if back.Query().Get("code") == "" {
		w.t.Fatalf("no code: %s; %v", back, w.logs.All())
	}
	return back
}

func (w *world) location(a answer) *url.URL {
	w.t.Helper()
	u, err := url.Parse(a.Headers["Location"])
	if err != nil || a.StatusCode != http.StatusSeeOther {
		w.t.Fatalf("no redirect: %d %v %s", a.StatusCode, a.Headers, a.Body)
	}
	return u
}

// redeem is the token request of the app for a code.
func redeem(code string, changes ...string) url.Values {
	return with(url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {appID}, "redirect_uri": {appBack}, "code_verifier": {verifier}, "resource": {door + "/mcp"},
	}, changes...)
}

func refreshing(token string, changes ...string) url.Values {
	return with(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {appID}}, changes...)
}

// signIn goes all the way.
func (w *world) signIn() tokens {
	w.t.Helper()
	w.app()
	return w.issued(w.post(tokenPath, redeem(w.consent(request()).Query().Get("code"))))
}

func (w *world) issued(a answer) (got tokens) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil || a.StatusCode != http.StatusOK || got.Access == "" {
		w.t.Fatalf("no tokens: %d %s", a.StatusCode, a.Body)
	}
	return got
}

// refused checks that an answer is the JSON of an error, with a sentence to act on.
func refused(t testing.TB, what string, a answer, status int, code string) {
	t.Helper()
	var f failure
	if err := json.Unmarshal([]byte(a.Body), &f); err != nil || a.StatusCode != status || f.Error != code || len(f.Description) < 15 {
		t.Errorf("%s: %d %s, want %d %s with a description", what, a.StatusCode, a.Body, status, code)
	}
	if a.Headers["Cache-Control"] != "no-store" {
		t.Errorf("%s may be cached", what)
	}
}
