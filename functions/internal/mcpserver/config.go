// Package mcpserver is the MCP layer: the contract's tools over Streamable HTTP, stateless,
// for protocol 2026-07-28 and the ones before it.
//
// The official SDK speaks the protocol. A request passes, in this order: a guard that
// answers what needs no protocol (methods, origins, broken bodies), the check of the API
// key, and inside the SDK a middleware that puts in the tools which the key has on. Usual calls
// and lists get the SDK's answer without it: see inline.
// A tool call becomes an HTTP request to the REST API with the caller's key (proxy), or is admitted
// here by the authorizer's own gate and invokes its function (direct).
//
// The reader of an answer is a program that decides what to do next. So every refusal is a
// JSON-RPC error whose message says what to do and whose data is the same object that
// explains a failed tool call. Little of the request is repeated in an answer, and no answer
// is larger than the contract's limit.
package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Authenticator finds the key that a text stands for; see account.Authenticator for the
// errors.
type Authenticator interface {
	Authenticate(ctx context.Context, text, source string) (account.Key, error)
}

// ToolNames says how tools are named in lists. Calls understand both forms.
type ToolNames string

// The ways to name tools.
const (
	// Underscore names are the default: postal_lookup. Some hosts refuse a whole list in
	// which one name has a dot.
	Underscore ToolNames = "underscore"
	// Canonical names are the contract's, which settings, logs and usage keep in any case:
	// postal.lookup.
	Canonical ToolNames = "canonical"
)

// Config is what a server is made of. API, Authenticator and Log are required.
type Config struct {
	API           *contract.API
	Authenticator Authenticator
	// OAuth is for requests by the OAuth door; nil where there is none.
	OAuth *OAuth
	// BaseURL gives the REST API's URL for a request, without a final slash. Nil: as the Lambda
	// event has it.
	BaseURL func(*http.Request) (string, error)
	// Client makes the calls to the REST API; its transport should keep connections. Its
	// redirect policy and timeout are not used: redirects are never followed, and the
	// time is the caller's. Nil: a client of its own.
	Client *http.Client
	// Direct has the server dispatch calls itself; nil: the REST API does.
	Direct *Direct
	// AllowedOrigins are the web origins, such as https://console.example, whose pages may
	// call. Requests without an Origin header come from no browser and are always served.
	AllowedOrigins []string
	// Free bounds how often a key may send what is not counted by the REST API: messages other
	// than tool calls, free tools, and calls that are refused here. Nil: not at all.
	Free *ratelimit.Budget
	// ToolNames is Underscore where empty.
	ToolNames ToolNames
	// Listing is ListAuto where empty, ListingTokens DefaultListingTokens where zero.
	Listing       ListMode
	ListingTokens int
	Log           *zap.Logger
	// Version of the server, as clients see it.
	Version string
	// Now is the clock of the log's durations; nil: time.Now.
	Now func() time.Time
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	switch {
	case c.API == nil:
		return c, errors.New("mcpserver: API is required")
	case c.API.Limits.AnswerBytes <= 0:
		return c, errors.New("mcpserver: API has no x-sekisho-limits.answer_bytes")
	case c.Authenticator == nil:
		return c, errors.New("mcpserver: Authenticator is required")
	case c.Log == nil:
		return c, errors.New("mcpserver: Log is required")
	}
	switch c.ToolNames {
	case "":
		c.ToolNames = Underscore
	case Canonical, Underscore:
	default:
		return c, fmt.Errorf("mcpserver: tool names %q: use %s or %s", c.ToolNames, Canonical, Underscore)
	}
	c.Listing, c.ListingTokens = cmp.Or(c.Listing, ListAuto), cmp.Or(c.ListingTokens, DefaultListingTokens)
	if err := c.Listing.check(); err != nil {
		return c, err
	}
	if c.BaseURL == nil {
		c.BaseURL = eventBaseURL
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Version == "" {
		c.Version = "dev"
	}
	client := http.Client{}
	if c.Client != nil {
		client.Transport = c.Client.Transport
	}
	// A redirect would carry the key to wherever it points.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Client = &client
	return c, nil
}

// invoker streams where whatever invokes the function takes streams: each invocation of it then.
func invoker(env boot.Env, function *gateway.Function) (boot.Invoker, error) {
	streams, err := boot.Parse(env, boot.Streaming, func(v string) (bool, error) {
		if v == "" {
			return false, nil
		}
		return strconv.ParseBool(v)
	})
	if err != nil || !streams {
		return function, err
	}
	return boot.HandleStream(function, gateway.Streaming{Function: function}.Stream), nil
}

func eventBaseURL(r *http.Request) (string, error) {
	event, ok := gateway.Event(r.Context())
	if !ok {
		return "", errors.New("mcpserver: BaseURL is not configured, and the request came from no Lambda event")
	}
	return gateway.BaseURL(event)
}

// New makes the handler of the MCP endpoint. It is safe for concurrent use, and made once.
func New(c Config) (http.Handler, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return newServer(c)
}

// Handler is New for Lambda, and for what stands in for it on a laptop.
func Handler(c Config) (*gateway.Function, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s, err := newServer(c)
	if err != nil {
		return nil, err
	}
	return s.lambda(), nil
}

func (s *server) lambda() *gateway.Function {
	return gateway.Handler(s, func(v any, stack []byte) { logPanic(s.Log, v, stack) })
}

// Platform is what "mcp" has of the cloud that it runs in.
type Platform struct {
	// Client makes the calls to the REST API; may be nil.
	Client *http.Client
	// Functions makes the invokers of functions, given their names in the cloud by the contract's.
	Functions func(env boot.Env, names map[string]string) (map[string]backend.Invoker, error)
	// Braked makes what asks whether the owner's brake is on; it makes nil where there is none.
	Braked func(boot.Env) (func(context.Context) (bool, error), error)
}

// FromEnv builds the function "mcp" of a deployment. Its environment says how calls are dispatched,
// how long a key is trusted, which web origins may call, and how tools are named and listed.
func FromEnv(open store.Open, platform Platform) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load(rt.Env)
		if err != nil {
			return nil, err
		}
		dispatch, err := boot.ParseDispatch(rt.Env(boot.Dispatch))
		if err != nil {
			return nil, err
		}
		config := Config{
			API: api, Client: platform.Client, Free: ratelimit.NewBudget(usage.FreeRate),
			AllowedOrigins: rt.Env.List(boot.AllowedOrigins), ToolNames: ToolNames(rt.Env(boot.ToolNames)), Listing: ListMode(rt.Env(boot.Listing)),
			Log: rt.Log, Version: boot.Version(), Now: rt.Now,
		}
		if config.ListingTokens, err = rt.Env.Int(boot.ListingTokens, DefaultListingTokens); err != nil {
			return nil, err
		}
		if dispatch == boot.Direct {
			err = config.direct(rt, open, platform)
		} else {
			config.Authenticator, err = keysFromEnv(rt, open)
		}
		if err != nil {
			return nil, err
		}
		function, err := Handler(config)
		if err != nil {
			return nil, err
		}
		return invoker(rt.Env, function)
	}
}

func keysFromEnv(rt boot.Runtime, open store.Open) (Authenticator, error) {
	s, err := open(rt.Env, boot.AccountsTable)
	if err != nil {
		return nil, err
	}
	return admission.KeysFromEnv(rt, s)
}

// direct has the server dispatch calls itself.
func (c *Config) direct(rt boot.Runtime, open store.Open, platform Platform) error {
	s, err := open(rt.Env, boot.AccountsTable, boot.UsageTable)
	if err != nil {
		return err
	}
	gate, err := admission.FromEnv(rt, s)
	if err != nil {
		return err
	}
	gate.Free = nil // the server bounds what is free, whoever serves it
	keys, err := admission.KeysFromEnv(rt, s)
	if err != nil {
		return err
	}
	c.Authenticator, c.Direct = keys, &Direct{Gate: gate, Refunds: s.Usage()}
	if c.OAuth, err = oauthFromEnv(rt, s, gate.Plans, keys); err != nil {
		return err
	}
	names, err := rt.Env.Names(boot.Functions)
	if err != nil {
		return err
	}
	if c.Direct.Functions, err = platform.Functions(rt.Env, names); err != nil {
		return err
	}
	c.Direct.Braked, err = platform.Braked(rt.Env)
	return err
}
