package apigateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/contract"
)

// IntegrationTimeout is API Gateway's default limit for an integration (AGW/limits.html).
const IntegrationTimeout = 29 * time.Second

// Config says what a Gateway serves.
type Config struct {
	// Description is the OpenAPI document as JSON, either the contract or what Terraform
	// applied of it. Nil means the embedded contract.
	Description []byte
	// Functions by name. Each function that the description names must be here.
	Functions map[string]Function
	// Authorizer and Settle are names of functions. An authorizer is needed where an
	// operation has security; what the description names goes before this. Without Settle
	// the access log goes nowhere.
	Authorizer, Settle string
	// Subscriber is the function that gets the messages of topics; empty for none.
	Subscriber string

	// Stage is the stage's name; empty means "local".
	Stage string
	// StageInPath serves the stage under /STAGE/…, as the default endpoint does. Without
	// it the stage is at the root, as with a custom domain.
	StageInPath    bool
	StageVariables map[string]string
	// Domain is the host, with its port, that requestContext names: what the client says
	// in Host is never believed. Empty means "localhost".
	Domain string
	// AccessLog maps the fields of a record to variables; nil takes the description's.
	AccessLog map[string]string
	// AccessLogTo takes every record, one line and one Write each, from many goroutines at
	// once; an *os.File does. Nil means that nothing but Settle reads the log.
	AccessLogTo io.Writer
	// Throttle is the stage's; nil means none.
	Throttle *Throttle
	// LowerCaseHeaders delivers header names in lower case (aws/aws-sdk-js#2719).
	LowerCaseHeaders bool
	// IntegrationTimeout replaces that of the description; 0 keeps it, or 29 s.
	IntegrationTimeout time.Duration
	// FlushDelay is how long records wait for others before they go to Settle; 0 means 20 ms.
	FlushDelay time.Duration

	// Now is the clock of timestamps and of the throttle; nil means time.Now.
	Now func() time.Time
	// Log gets what API Gateway would write into the execution log; nil means nothing.
	Log *zap.Logger
}

// Gateway serves one stage of one API. It is safe for concurrent use.
type Gateway struct {
	config       Config
	description  []byte
	routes       *routes
	refusals     map[string]contract.GatewayResponse
	functions    map[string]*function
	authorizer   *function
	variables    atomic.Pointer[map[string]string]
	accessLog    accessLog
	subscription *subscription
	topics       topics
	throttle     *bucket
	now          func() time.Time
	log          *zap.Logger

	// running ends when the gateway is closed, and with it the contexts of all functions.
	running context.Context
	stop    context.CancelFunc
}

// New builds a Gateway. The error says what in the configuration does not fit together.
func New(c Config) (*Gateway, error) {
	setDefaults(&c)
	api, err := parse(c.Description)
	if err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	g := &Gateway{
		config: c, description: c.Description, refusals: api.GatewayResponses,
		functions: map[string]*function{}, now: c.Now, log: c.Log,
	}
	g.running, g.stop = context.WithCancel(context.Background())
	for name, f := range c.Functions {
		if g.functions[name], err = newFunction(name, f, g); err != nil {
			return nil, fmt.Errorf("local: %w", err)
		}
	}
	if g.routes, err = g.buildRoutes(api); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	if err := g.nameRoles(); err != nil {
		return nil, fmt.Errorf("local: %w", err)
	}
	g.SetStageVariables(c.StageVariables)
	g.accessLog = newAccessLog(c.AccessLog, api.AccessLog)
	g.throttle = newBucket(c.Throttle, c.Now())
	g.subscription = newSubscription(g, g.functions[c.Settle])
	return g, nil
}

func setDefaults(c *Config) {
	if c.Description == nil {
		c.Description = contract.Document()
	}
	if c.Stage == "" {
		c.Stage = "local"
	}
	if c.Domain == "" {
		c.Domain = "localhost"
	}
	if c.FlushDelay == 0 {
		c.FlushDelay = 20 * time.Millisecond
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
}

// nameRoles finds the functions that are no integration.
func (g *Gateway) nameRoles() error {
	described, err := g.describedAuthorizer()
	if err != nil {
		return err
	}
	if g.authorizer = described; described == nil {
		g.authorizer = g.functions[g.config.Authorizer]
	}
	if g.authorizer == nil && g.routes.secured {
		return fmt.Errorf("authorizer %q is not among the functions (%s), and operations need one",
			g.config.Authorizer, g.functionNames())
	}
	if settle := g.config.Settle; settle != "" && g.functions[settle] == nil {
		return fmt.Errorf("settle function %q is not among the functions (%s)", settle, g.functionNames())
	}
	g.topics.subscriber = g.functions[g.config.Subscriber]
	if subscriber := g.config.Subscriber; subscriber != "" && g.topics.subscriber == nil {
		return fmt.Errorf("subscriber %q is not among the functions (%s)", subscriber, g.functionNames())
	}
	return nil
}

func (g *Gateway) functionNames() string {
	return strings.Join(slices.Sorted(maps.Keys(g.functions)), ", ")
}

// Server is an HTTP server that leaves as much as it can to the gateway. What is no HTTP at
// all, such as a path with a broken percent-encoding, net/http still answers with a plain 400.
func (g *Gateway) Server() *http.Server {
	return &http.Server{
		Handler:                      g,
		DisableGeneralOptionsHandler: true, // OPTIONS * is an unknown route
		ReadHeaderTimeout:            10 * time.Second,
		ErrorLog:                     zap.NewStdLog(g.log),
	}
}

// ServeHTTP serves one request: first what is only for the laptop, then the API.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, localPrefix) {
		g.serveLocal(w, r)
		return
	}
	c := g.newCall(r)
	answer := g.answer(c, w, r)
	// The record comes before the answer, so that whoever has the answer can wait for it.
	g.record(c, answer)
	answer.write(w)
}

// answer takes a call through the stations of a REST API. Every refusal is a gateway response.
func (g *Gateway) answer(c *call, w http.ResponseWriter, r *http.Request) *answer {
	err := g.admit(c, w, r)
	if err == nil {
		if c.route.mock != nil {
			return g.answerMock(c)
		}
		var a *answer
		if a, err = g.answerProxy(c); err == nil {
			return a
		}
	}
	var f *refusal
	if !errors.As(err, &f) {
		f = &refusal{kind: "DEFAULT_5XX", status: http.StatusInternalServerError, message: "Internal server error"}
	}
	return g.refuse(c, f)
}

// admit decides whether a call reaches its integration. The error is a *refusal.
func (g *Gateway) admit(c *call, w http.ResponseWriter, r *http.Request) error {
	if err := c.checkHeaders(r); err != nil {
		return err
	}
	if err := g.findRoute(c); err != nil {
		return err
	}
	if !g.throttle.take(g.now()) {
		return refuseThrottled()
	}
	if err := c.readBody(w, r); err != nil {
		return err
	}
	if c.route.public {
		return nil
	}
	return g.authorize(c)
}

// Reserved is the reserved concurrency of a function; ok is false if there is none of the name.
func (g *Gateway) Reserved(name string) (n int, ok bool) {
	f := g.functions[name]
	if f == nil {
		return 0, false
	}
	return f.snapshot().Reserved, true
}

// StageVariables are those of the requests that come now.
func (g *Gateway) StageVariables() map[string]string { return maps.Clone(*g.variables.Load()) }

// SetReserved changes the reserved concurrency of a function: -1 unreserved, 0 off. Calls
// that run go on.
func (g *Gateway) SetReserved(name string, n int) error {
	f := g.functions[name]
	if f == nil {
		return fmt.Errorf("local: no function %q; there are %s", name, g.functionNames())
	}
	if n < Unreserved {
		return fmt.Errorf("local: reserved concurrency of %s must be -1 (unreserved), 0 (off) or more, not %d", name, n)
	}
	f.setReserved(n)
	return nil
}

// SetStageVariables replaces the stage variables, for the requests that come after.
func (g *Gateway) SetStageVariables(variables map[string]string) {
	v := maps.Clone(variables)
	g.variables.Store(&v)
}

// Flush waits until the access log up to now has been taken by the settle function. The
// error is that of ctx.
func (g *Gateway) Flush(ctx context.Context) error { return g.subscription.flush(ctx) }

// Close delivers what is left of the access log and stops. It waits no longer than ctx, and
// not for functions that hang: their contexts end. The error is that of ctx, when records
// were left undelivered.
func (g *Gateway) Close(ctx context.Context) error {
	err := g.subscription.close(ctx)
	g.stop()
	g.topics.deliveries.Wait() // short: an invocation ends with the gateway
	return err
}
