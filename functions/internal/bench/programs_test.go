package bench

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
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/usage"
	"sekisho/tests/awsfake/tables"
	"sekisho/tests/repository"
	"sekisho/tests/terraform/stack"
)

// outside is what functions reach: DynamoDB, kept in memory, and a REST API. Both answer at once, or
// after a delay.
type outside struct {
	double    *dynamotest.Double
	delay     time.Duration
	mu        sync.Mutex
	restBody  string
	plain     *httptest.Server
	encrypted *httptest.Server
	// authority signed the certificate of the encrypted one.
	authority []byte
}

func (o *outside) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	time.Sleep(o.delay)
	w.Header().Set("Content-Type", "application/json")
	if _, operation, ok := strings.Cut(q.Header.Get("X-Amz-Target"), "."); ok {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		status, answer := o.double.Do(operation, body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	o.mu.Lock()
	body := o.restBody
	o.mu.Unlock()
	_, _ = io.WriteString(w, body)
}

func (o *outside) answerWith(body string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.restBody = body
}

const smallAnswer = `{"postal_code":"1000001","formatted":"100-0001","addresses":[]}`

func (r *run) outside(double *dynamotest.Double, delay time.Duration) *outside {
	r.Helper()
	o := &outside{double: double, delay: delay, restBody: smallAnswer}
	o.plain = httptest.NewServer(o)
	r.Cleanup(o.plain.Close)
	o.encrypted = httptest.NewUnstartedServer(o)
	o.encrypted.EnableHTTP2 = true
	certificate, authority, err := newCertificate()
	r.must(err)
	o.encrypted.TLS, o.authority = &tls.Config{Certificates: []tls.Certificate{certificate}}, authority
	o.encrypted.StartTLS()
	r.Cleanup(o.encrypted.Close)
	return o
}

// newCertificate makes a certificate for 127.0.0.1, and the PEM of who signed it.
func newCertificate() (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	own := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sekisho bench"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, own, own, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// roots lays out a trust store as Amazon Linux 2023 has it (github.com/golang/go/issues/79018): a
// bundle, and in a directory the same certificates one by one. Go reads both.
func (r *run) roots(authority []byte) map[string]string {
	r.Helper()
	dir := r.TempDir()
	bundle, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	if err != nil {
		r.Logf("no roots of this machine: %v", err)
	}
	bundle = append(bundle, authority...)
	file := filepath.Join(dir, "bundle.pem")
	r.must(os.WriteFile(file, bundle, 0o644))
	single := filepath.Join(dir, "certs")
	r.must(os.Mkdir(single, 0o755))
	for n := 0; ; n++ {
		block, rest := pem.Decode(bundle)
		if block == nil {
			break
		}
		bundle = rest
		r.must(os.WriteFile(filepath.Join(single, fmt.Sprintf("%03d.pem", n)), pem.EncodeToMemory(block), 0o644))
	}
	return map[string]string{"SSL_CERT_FILE": file, "SSL_CERT_DIR": single, "NODE_EXTRA_CA_CERTS": file}
}

// functions are all of the product's, with the event that each gets of a real call, and a store that
// knows the caller's key.
type functions struct {
	*run
	dir    string
	events map[string][]byte
	double *dynamotest.Double
	names  dynamo.Tables
	// gateway is where the events say that the REST API is.
	gateway string
}

func (r *run) functions() *functions {
	r.Helper()
	f := &functions{run: r, dir: r.TempDir(), events: map[string][]byte{"brake": []byte(`{"Records":[]}`)}, double: dynamotest.New()}
	f.capture()
	f.build()
	return f
}

// capture serves the whole service for a moment, and keeps what its functions are invoked with.
func (f *functions) capture() {
	f.Helper()
	f.names = f.fresh("capture-" + f.part.Name)
	client := tables.Client(f.cloud().Endpoint, http.DefaultTransport)
	stores := dynamo.New(client, f.names)
	plans := account.Plans{"large": usage.PerMonth(1e12)}
	ring := account.Keyring{Store: stores.Accounts(), Plans: plans, Now: time.Now}
	_, err := ring.CreateUser(f.Context(), "user", "large")
	f.must(err)
	secret, _, err := ring.CreateKey(f.Context(), "user", "")
	f.must(err)
	f.copyAccounts(client)

	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }))
	defer upstream.Close()
	server := httptest.NewUnstartedServer(nil)
	f.gateway = server.Listener.Addr().String()
	var mu sync.Mutex
	service, err := laptop.New(laptop.Config{
		Gateway: apigateway.Config{Domain: f.gateway, Stage: "live"}, Stores: stores, Log: io.Discard,
		Functions: laptop.Defaults(map[string]string{boot.Plans: plans.String(), boot.Backend: backend.Settings{URL: upstream.URL, Private: true}.String()}),
		Wrap: func(name string, handler lambda.Invoker) lambda.Invoker {
			return invokerFunc(func(ctx context.Context, payload []byte) ([]byte, error) {
				mu.Lock()
				if _, ok := f.events[name]; !ok {
					f.events[name] = slices.Clone(payload)
				}
				mu.Unlock()
				return handler.Invoke(ctx, payload)
			})
		},
	})
	f.must(err)
	server.Config.Handler = service.Server().Handler
	server.Start()
	defer server.Close()
	at := caller{f.run, server.URL, server.URL + "/mcp"}
	for _, c := range []call{tool, lookup, missing, exempt, {path: "/v1/calendar/holidays?year=2026"}, {path: "/v1/convert/units?value=1&from=km&to=m"},
		{path: "/v1/external/stats/demo"}, {path: "/"}} {
		at.call(secret.Reveal(), c)
	}
	f.must(service.Flush(f.Context()))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f.must(service.Close(ctx))
	described, err := contract.Default()
	f.must(err)
	for _, name := range append(described.Functions(), laptop.Authorizer, laptop.Settle) {
		if f.events[name] == nil {
			f.Errorf("no call reached the function %s: add one", name)
		}
	}
}

type invokerFunc func(context.Context, []byte) ([]byte, error)

func (f invokerFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f(ctx, payload)
}

// copyAccounts gives the double what the emulator knows of keys.
func (f *functions) copyAccounts(client *dynamodb.Client) {
	f.Helper()
	all, err := client.Scan(f.Context(), &dynamodb.ScanInput{TableName: &f.names.Accounts, ConsistentRead: aws.Bool(true)})
	f.must(err)
	to := dynamotest.Client(f.double)
	for _, item := range all.Items {
		_, err := to.PutItem(f.Context(), &dynamodb.PutItemInput{TableName: &f.names.Accounts, Item: item})
		f.must(err)
	}
}

// build makes every binary with the flags of every build, for this machine.
func (f *functions) build() {
	f.Helper()
	root, err := repository.Root()
	f.must(err)
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	f.must(err)
	packages := map[string]string{"empty": "./tests/bench/empty"}
	for _, main := range mains {
		name := filepath.Base(filepath.Dir(main))
		packages[name] = "./functions/" + name
	}
	fmt.Fprintf(f.progress, "  building %d programs\n", len(packages))
	for name, path := range packages {
		command := exec.Command(filepath.Join(root, "scripts", "lambda-binary"), filepath.Join(f.dir, name), path)
		command.Env = append(os.Environ(), "ARCH="+runtime.GOARCH)
		if out, err := command.CombinedOutput(); err != nil {
			f.Fatalf("build %s: %v: %s", name, err, out)
		}
	}
	merged, err := os.ReadFile(filepath.Join(root, stack.Contract))
	f.must(err)
	f.must(os.WriteFile(filepath.Join(f.dir, "contract.json"), merged, 0o644))
}

// binary is the program of a function: those of backends share one.
func (f *functions) binary(name string) string {
	f.Helper()
	described, err := contract.Default()
	f.must(err)
	return filepath.Join(f.dir, described.Binary(name))
}

// runnable is a function as it is deployed, with the outside at some addresses.
func (f *functions) runnable(name string, at *httptest.Server) runnable {
	f.Helper()
	deployed, ok := f.deployed()[name]
	if !ok {
		f.Fatalf("function %s is not in the plan", name)
	}
	p := runnable{name: name, command: []string{f.binary(name)}, env: maps.Clone(deployed.env), event: f.event(name, at), memoryMB: deployed.memoryMB}
	maps.Copy(p.env, f.aws(at))
	p.env["LAMBDA_TASK_ROOT"], p.env["AWS_LAMBDA_FUNCTION_NAME"] = f.dir, "sekisho-dev-"+name
	if _, ok := p.env[boot.Plans]; ok {
		p.env[boot.Plans] = account.Plans{"large": usage.PerMonth(1e12)}.String()
	}
	if p.env[boot.Backend] != "" {
		p.env[boot.Backend] = backend.Settings{URL: at.URL, Private: true}.String()
	}
	if name == "brake" {
		// Terraform knows its environment only after it has made the API.
		maps.Copy(p.env, map[string]string{
			boot.BrakeFunctions: "sekisho-dev-mcp:live", boot.BrakeTopicARN: "arn:aws:sns:us-east-1:123456789012:money", boot.BrakeAlarms: "sekisho-dev-spend-rate",
			boot.BrakeBudget: "sekisho-dev-monthly", boot.BrakeParameter: "/sekisho-dev/brake", boot.APIID: "abcdef1234", boot.Stage: "live",
		})
	}
	return p
}

// aws is what Lambda adds to an environment, and where the store is.
func (f *functions) aws(at *httptest.Server) map[string]string {
	return map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "test",
		"AWS_ENDPOINT_URL": at.URL, boot.AccountsTable: f.names.Accounts, boot.UsageTable: f.names.Usage,
	}
}

// event is a real one that says that the REST API is at an address.
func (f *functions) event(name string, at *httptest.Server) []byte {
	f.Helper()
	event := strings.ReplaceAll(string(f.events[name]), f.gateway, at.Listener.Addr().String())
	if at.TLS == nil || name != "mcp" {
		return []byte(event)
	}
	// A loopback host is called in plain HTTP, unless the stage says otherwise.
	var members map[string]any
	f.must(json.Unmarshal([]byte(event), &members))
	variables, _ := members["stageVariables"].(map[string]any)
	if variables == nil {
		variables = map[string]any{}
	}
	variables["rest_address"] = at.URL
	members["stageVariables"] = variables
	return f.encode(members)
}
