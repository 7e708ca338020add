package apigateway

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// IntegrationTimeout is API Gateway's default limit for an integration (AGW/limits.html).
const IntegrationTimeout = 29 * time.Second

// Functions is what a gateway needs of Lambda.
type Functions interface {
	// Names of all functions, in order.
	Names() []string
	// Find returns a function's own name, given that or its name in AWS; "" if there is none.
	Find(name string) string
	// Invoke runs a function once and waits for it, for at most limit. The errors are those
	// of package lambda.
	Invoke(function string, payload []byte, limit time.Duration) ([]byte, error)
	// InvokeStream runs a function once and returns when its answer begins.
	InvokeStream(function string, payload []byte, limit time.Duration) (io.ReadCloser, error)
}

// Subscription takes the records of the access log that are about failed or denied calls.
type Subscription interface {
	Add(at time.Time, record string)
}

// Throttle is front.Throttle.
type Throttle = front.Throttle

// Invoker is lambda.Invoker.
type Invoker = lambda.Invoker

// Config says what a Gateway serves.
type Config struct {
	// Description is the OpenAPI document as JSON, either the contract or what Terraform
	// applied of it. Nil means the embedded contract.
	Description []byte
	// Functions must have each one that the description names.
	Functions Functions
	// Authorizer is the name of a function. One is needed where an operation has security;
	// what the description names goes before this.
	Authorizer string

	// Elsewhere is a function whose operations another door serves: they are left out.
	Elsewhere string
	// Streaming is a function whose answers go out while it makes them. What the description
	// applies by itself, in responseTransferMode, needs no mention.
	Streaming string

	// Stage is the stage's name; empty means "local".
	Stage string
	// StageInPath serves the stage under /STAGE/…, as the default endpoint does. Without
	// it the stage is at the root, as with a custom domain.
	StageInPath    bool
	StageVariables map[string]string
	// Domain is the host, with its port, that requestContext names: what the client says
	// in Host is never believed. Empty means "localhost".
	Domain string
	// Throttle is the stage's, for each method; nil means none.
	Throttle *Throttle

	// AccessLogFormat maps the fields of a record to variables; nil takes the description's.
	AccessLogFormat map[string]string
	// AccessLog takes every record, one line and one Write each, before the answer goes out,
	// from many goroutines at once; an *os.File does. Nil means none.
	AccessLog io.Writer
	// Subscription to the access log; nil means none.
	Subscription Subscription

	// Now is the clock of timestamps and of the throttle; nil means time.Now.
	Now func() time.Time
	// Log gets what API Gateway would write into the execution log; nil means nothing.
	Log *zap.Logger
}

// Gateway serves one stage of one API. It is safe for concurrent use.
type Gateway struct {
	config     Config
	routes     *routes
	refusals   map[string]contract.GatewayResponse
	authorizer string
	settings   atomic.Pointer[Settings]
	// minCompressed is the description's minimum size; nil means that nothing is compressed.
	minCompressed *int
	accessLog     accessLog
	throttles     *front.Throttles
	bodies        *front.Bodies
	now           func() time.Time
	log           *zap.Logger
}

// New builds a Gateway. The error says what in the configuration does not fit together.
func New(c Config) (*Gateway, error) {
	setDefaults(&c)
	g := &Gateway{config: c, now: c.Now, log: c.Log, bodies: front.NewBodies(front.MaxBodies)}
	if err := g.build(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g.Set(Settings{Variables: c.StageVariables})
	g.throttles = front.NewThrottles(c.Throttle)
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
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
}

// build reads the description.
func (g *Gateway) build() error {
	api, err := parse(g.config.Description)
	if err != nil {
		return err
	}
	g.refusals, g.minCompressed = api.GatewayResponses, api.MinCompressed
	g.accessLog = newAccessLog(g.config.AccessLogFormat, api.AccessLog)
	if g.routes, err = g.buildRoutes(api, g.config.Description); err != nil {
		return err
	}
	described, err := g.describedAuthorizer(g.config.Description)
	if err != nil {
		return err
	}
	if g.authorizer = cmp.Or(described, g.config.Functions.Find(g.config.Authorizer)); g.authorizer == "" && g.routes.secured {
		return fmt.Errorf("authorizer %q is not among the functions (%s), and operations need one",
			g.config.Authorizer, g.functionNames())
	}
	return nil
}

func (g *Gateway) functionNames() string { return strings.Join(g.config.Functions.Names(), ", ") }

// Description is the document that is served.
func (g *Gateway) Description() []byte { return g.config.Description }

// ServeHTTP serves one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := g.newCall(r)
	defer func() { c.done() }()
	answer := g.answer(c, w, r)
	if answer.stream != nil {
		g.passOn(c, answer, w)
		return
	}
	// The record comes before the answer, so that a caller that has the answer can count on
	// the record, even if this process is killed.
	g.record(c, answer, int64(len(answer.body)))
	g.compress(c, answer)
	answer.write(w)
}

// passOn sends a stream, and records it at its end, when its length is known. One that fails is
// cut off: its status is out.
func (g *Gateway) passOn(c *call, a *answer, w http.ResponseWriter) {
	defer a.stream.Close()
	a.writeHeader(w)
	length, err := front.PassOn(w, a.stream, math.MaxInt64)
	g.record(c, a, length)
	if err != nil {
		g.log.Error("stream cut off", zap.String("function", c.route.function), zap.String("request_id", c.extendedID), zap.Error(err))
		panic(http.ErrAbortHandler)
	}
}

// answer takes a call through the stations of a REST API. Every refusal is a gateway response.
func (g *Gateway) answer(c *call, w http.ResponseWriter, r *http.Request) *answer {
	err := g.admit(c, w, r)
	if err == nil {
		if c.route.mock != nil {
			return g.answerMock(c)
		}
		invoke := g.answerProxy
		if c.route.streams {
			invoke = g.answerStream
		}
		var a *answer
		if a, err = invoke(c); err == nil {
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
	if !g.throttles.Take(c.method+" "+c.route.resource, c.settings.Throttles, g.now()) {
		return refuseThrottled()
	}
	if err := front.CheckLength(w, r, maxBody); err != nil {
		return refuseTooLarge()
	}
	if !c.route.public {
		if err := g.authorize(c); err != nil {
			return err
		}
	}
	return g.readBody(c, w, r)
}

// readBody reads the body, which is given up with the call.
func (g *Gateway) readBody(c *call, w http.ResponseWriter, r *http.Request) error {
	body, done, err := g.bodies.Read(w, r, maxBody)
	c.done = done
	switch {
	case errors.Is(err, front.ErrBodyTooLarge):
		return refuseTooLarge()
	case errors.Is(err, front.ErrNoMemory):
		return refuseThrottled()
	case err != nil:
		return &refusal{kind: "DEFAULT_4XX", status: http.StatusBadRequest, message: "Bad Request"}
	}
	c.body = strings.ToValidUTF8(string(body), "\uFFFD")
	return nil
}

// Stage is the stage's name.
func (g *Gateway) Stage() string { return g.config.Stage }

// Settings are what is changed on a stage that serves, all of it at once, as by API Gateway's
// UpdateStage: each request meets the ones from before or the ones from after.
type Settings struct {
	// Variables of the stage.
	Variables map[string]string
	// Throttles that methods have of their own, by method such as GET /v1/postal.
	Throttles map[string]Throttle
}

func (s Settings) clone() Settings {
	return Settings{Variables: maps.Clone(orEmpty(s.Variables)), Throttles: maps.Clone(orEmpty(s.Throttles))}
}

// Settings are those of the requests that come now.
func (g *Gateway) Settings() Settings { return g.settings.Load().clone() }

// Set replaces the settings, for the requests that come after.
func (g *Gateway) Set(s Settings) {
	s = s.clone()
	g.settings.Store(&s)
}
