package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"sekisho/functions/internal/aws/function"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/upstream"
	"sekisho/functions/internal/outbound"
)

// backendFlags say where the contract's backends are, and how they are called. NAME= can be left
// out where the contract has one backend.
type backendFlags struct {
	Backend           []string      `help:"Where a backend is: a URL; the ARN of a Lambda function; or lambda:URL/FUNCTION, a function that an emulator serves. Without it external.* call a small upstream in this process." placeholder:"[NAME=]ADDRESS" sep:"none"`
	BackendAuth       []string      `help:"The credential for a backend, as a header 'Authorization: Bearer env:TOKEN' or 'X-Api-Key: file:PATH', as query:NAME=env:KEY, or as basic:USER:env:PASSWORD. env: names a variable, file: a file." placeholder:"[NAME=]CREDENTIAL" sep:"none"`
	BackendSigningKey string        `help:"The key with which backends are told who calls: env:NAME or file:PATH." placeholder:"env:NAME"`
	BackendPrivate    bool          `help:"Let backends be on private addresses. Those given as such, and localhost, always may."`
	BackendTimeout    time.Duration `help:"Timeout of one attempt." default:"15s"`
	BackendRate       float64       `help:"Sustained calls to a backend per second; 0 is no limit." default:"0"`
	BackendBurst      int           `help:"Calls to a backend in a burst, with --backend-rate." default:"5"`
	PerDay            []string      `help:"Calls of a backend's operation that may succeed per UTC day." placeholder:"OPERATION=N"`
}

// given reports whether any flag differs from its default.
func (f backendFlags) given() bool {
	return len(f.Backend)+len(f.BackendAuth)+len(f.PerDay) > 0 || f.BackendSigningKey != "" || f.BackendPrivate ||
		f.BackendTimeout != outbound.DefaultTimeout || f.BackendRate != 0 || f.BackendBurst != backend.DefaultBurst
}

// builtIn is the backend that a small upstream stands in for, and builtInToken names its token
// among the secrets.
const builtIn, builtInToken = "external", "the built-in upstream's"

// backends are those of a running service.
type backends struct {
	settings map[string]backend.Settings
	relay    relay.Options
	close    func() error
}

// backends reads the flags, and starts the small upstream where it is wanted.
func (f backendFlags) backends(api *contract.API) (*backends, error) {
	names := slices.Sorted(maps.Keys(api.Backends))
	b := &backends{settings: map[string]backend.Settings{}, relay: relay.Options{Secret: secrets(""), Invoker: invoker}, close: func() error { return nil }}
	for _, name := range names {
		b.settings[name] = backend.Settings{Name: name, URL: api.Backends[name].URL}
	}
	for _, step := range []struct {
		option string
		flags  []string
		set    func(*backend.Settings, string) error
	}{{"backend", f.Backend, setAddress}, {"backend-auth", f.BackendAuth, setAuth}} {
		for _, flag := range step.flags {
			if err := b.set(names, flag, step.set); err != nil {
				return nil, fmt.Errorf("--%s %s: %w", step.option, flag, err)
			}
		}
	}
	if err := b.setPerDay(api, f.PerDay); err != nil {
		return nil, err
	}
	for _, name := range names {
		s := b.settings[name]
		if !s.Configured() && name == builtIn {
			if s.Auth != nil {
				return nil, fmt.Errorf("--backend-auth needs --backend too: the built-in upstream makes its own token")
			}
			if err := b.start(&s); err != nil {
				return nil, err
			}
		}
		if err := f.complete(&s); err != nil {
			return nil, errors.Join(fmt.Errorf("backend %s: %w", name, err), b.close())
		}
		b.settings[name] = s
	}
	return b, nil
}

// backendNamed finds NAME= before a value. A header's name may look like one, but ends in a colon.
var backendNamed = regexp.MustCompile(`^([a-z][a-z0-9_]*)=(.*)$`)

func (b *backends) set(names []string, flag string, set func(*backend.Settings, string) error) error {
	name, value := "", flag
	if m := backendNamed.FindStringSubmatch(flag); m != nil {
		name, value = m[1], m[2]
	} else if len(names) == 1 {
		name = names[0]
	}
	s, ok := b.settings[name]
	switch {
	case len(names) == 0:
		return errors.New("the contract has no backend")
	case name == "":
		return fmt.Errorf("say which backend is meant, as NAME=…; there are: %s", strings.Join(names, ", "))
	case !ok:
		return fmt.Errorf("there is no backend %q; there are: %s", name, strings.Join(names, ", "))
	}
	err := set(&s, value)
	b.settings[name] = s
	return err
}

func setAddress(s *backend.Settings, address string) error {
	s.URL = ""
	if strings.HasPrefix(address, "arn:") {
		s.FunctionARN = address
		return nil
	}
	if at, ok := strings.CutPrefix(address, "lambda:"); ok {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" {
			return errors.New("write lambda:http://127.0.0.1:9001/FUNCTION")
		}
		s.FunctionARN = strings.Trim(u.Path, "/")
		if s.FunctionARN == "" {
			s.FunctionARN = "function" // as the runtime interface emulator has it
		}
		u.Path = ""
		s.Endpoint = u.String()
		return nil
	}
	s.URL = address
	return nil
}

func setAuth(s *backend.Settings, value string) (err error) {
	s.Auth, err = parseAuth(value)
	return err
}

const howToAuth = "write 'Authorization: Bearer env:NAME', 'X-Api-Key: env:NAME', query:PARAMETER=env:NAME or basic:USER:env:NAME"

// parseAuth never repeats the value: whoever gave the secret itself must not find it in a log.
func parseAuth(value string) (*backend.Auth, error) {
	at := strings.LastIndex(value, "env:")
	if at < 0 {
		at = strings.Index(value, "file:")
	}
	if at < 0 {
		return nil, errors.New("a flag is no place for a secret; " + howToAuth)
	}
	place, err := parsePlace(value[at:])
	if err != nil {
		return nil, err
	}
	how := strings.TrimSpace(value[:at])
	if rest, ok := strings.CutPrefix(how, "query:"); ok && strings.HasSuffix(rest, "=") {
		return &backend.Auth{Type: backend.Query, Name: strings.TrimSuffix(rest, "="), Place: place}, nil
	}
	if rest, ok := strings.CutPrefix(how, "basic:"); ok {
		return &backend.Auth{Type: backend.Basic, Name: strings.TrimSuffix(rest, ":"), Place: place}, nil
	}
	name, scheme, ok := strings.Cut(how, ":")
	name, scheme = strings.TrimSpace(name), strings.TrimSpace(scheme)
	switch {
	case !ok || name == "":
		return nil, errors.New(howToAuth)
	case strings.EqualFold(name, "Authorization") && strings.EqualFold(scheme, "Bearer"):
		return &backend.Auth{Type: backend.Bearer, Place: place}, nil
	}
	return &backend.Auth{Type: backend.Header, Name: name, Scheme: scheme, Place: place}, nil
}

// parsePlace reads env:NAME and file:PATH, and sees that there is a secret.
func parsePlace(text string) (p backend.Place, err error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		p.Env = name
	} else if path, ok := strings.CutPrefix(text, "file:"); ok {
		p.File = path
	} else {
		return p, errors.New("write env:NAME or file:PATH")
	}
	_, err = readPlace(p)
	return p, err
}

func readPlace(p backend.Place) (string, error) {
	if p.Env != "" {
		if value := os.Getenv(p.Env); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("the variable %s is not set", p.Env)
	}
	content, err := os.ReadFile(p.File)
	if err != nil {
		return "", err
	}
	if value := strings.TrimSpace(string(content)); value != "" {
		return value, nil
	}
	return "", fmt.Errorf("%s is empty", p.File)
}

// secrets reads what the flags name, each time anew, so that a file can be changed while the
// service runs. token is the built-in upstream's.
func secrets(token string) func(boot.Env, backend.Place) (func(context.Context) (string, error), error) {
	return func(_ boot.Env, at backend.Place) (func(context.Context) (string, error), error) {
		if at.Env == builtInToken {
			return func(context.Context) (string, error) { return token, nil }, nil
		}
		return func(context.Context) (string, error) { return readPlace(at) }, nil
	}
}

// invoker invokes functions as the person who started the service, or those of an emulator.
func invoker(_ boot.Env, s backend.Settings) (backend.Invoker, error) {
	if s.Endpoint != "" {
		return function.New(aws.Config{
			Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("emulator", "emulator", ""),
		}, s), nil
	}
	options := []func(*awsconfig.LoadOptions) error{}
	if parts := strings.Split(s.FunctionARN, ":"); len(parts) > 3 {
		options = append(options, awsconfig.WithRegion(parts[3]))
	}
	cfg, err := awsconfig.LoadDefaultConfig(context.Background(), options...)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	return function.New(cfg, s), nil
}

func (b *backends) setPerDay(api *contract.API, flags []string) error {
	for _, flag := range flags {
		operation, number, _ := strings.Cut(flag, "=")
		n := 0
		_, err := fmt.Sscanf(number, "%d", &n)
		op := api.Operation(operation)
		switch {
		case err != nil || n < 0:
			return fmt.Errorf("--per-day %s: write OPERATION=N, with N 0 or more", flag)
		case op == nil || op.Backend == "":
			return fmt.Errorf("--per-day %s: no backend serves an operation %q", flag, operation)
		}
		s := b.settings[op.Backend]
		if s.PerDay == nil {
			s.PerDay = map[string]int{}
		}
		s.PerDay[operation] = n
		b.settings[op.Backend] = s
	}
	return nil
}

// complete adds what the flags say of all backends.
func (f backendFlags) complete(s *backend.Settings) error {
	if s.FunctionARN == "" {
		s.TimeoutSeconds = f.BackendTimeout.Seconds()
	}
	s.Private = s.Private || f.BackendPrivate || isLocal(s.URL)
	if f.BackendRate > 0 {
		s.RatePerSecond, s.Burst = &f.BackendRate, f.BackendBurst
	}
	if f.BackendSigningKey != "" {
		place, err := parsePlace(f.BackendSigningKey)
		if err != nil {
			return fmt.Errorf("--backend-signing-key: %w", err)
		}
		text, _ := readPlace(place) // it could be read just now
		if _, err := backend.SigningKey(text); err != nil {
			return fmt.Errorf("--backend-signing-key: %w", err)
		}
		s.Signing = &place
	}
	return s.Check()
}

// isLocal: whoever writes such an address means it.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && (ip.IsLoopback() || ip.IsPrivate())
}

// start serves the small upstream on a free port, behind a random token.
func (b *backends) start(s *backend.Settings) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the built-in upstream: %w; name another with --backend", err)
	}
	token := rand.Text()
	server := &http.Server{Handler: upstream.Handler(token), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	rate := 1.0
	s.URL, s.RatePerSecond, s.Burst = "http://"+listener.Addr().String(), &rate, backend.DefaultBurst
	s.Auth = &backend.Auth{Type: backend.Bearer, Place: backend.Place{Env: builtInToken}}
	b.relay.Secret, b.close = secrets(token), server.Close
	return nil
}

// environment gives each backend's function its settings.
func (b *backends) environment(functions map[string]laptop.Function) {
	for name, s := range b.settings {
		f := functions[name]
		f.Env = maps.Clone(f.Env)
		if s.Configured() {
			f.Env[boot.Backend] = s.String()
		}
		functions[name] = f
	}
}

// addresses says where the backends are, for people.
func (b *backends) addresses() map[string]string {
	at := map[string]string{}
	for name, s := range b.settings {
		switch {
		case s.Endpoint != "":
			at[name] = s.FunctionARN + " at " + s.Endpoint
		case s.Configured():
			at[name] = s.URL + s.FunctionARN
		default:
			at[name] = "nothing: give --backend " + name + "=ADDRESS"
		}
	}
	return at
}
