package laptop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/store"
)

// Function is how one function runs.
type Function struct {
	// Function is how it is deployed. A Timeout of 0 is that of the contract's table, and a
	// Handler takes the place of its own, for tests.
	lambda.Function
	// Env is its environment.
	Env map[string]string
	// Stores that its environment names; nil means those of the Config.
	Stores store.Store
}

// Config says what is served.
type Config struct {
	// Gateway is the API and its stage. New fills in Functions, Authorizer, Subscription, Now
	// and Log; nil StageVariables mean the contract's state "open".
	Gateway apigateway.Config
	// Functions by name. They must be all that the description names, with authorizer and
	// settle.
	Functions map[string]Function
	// Contract is the file of a merged contract; "" is the default one.
	Contract string
	Stores   store.Store
	// Log takes the functions' log lines.
	Log io.Writer
	// Dispatched takes the lines about calls that mcp dispatches itself, for Replay; nil: nobody.
	Dispatched io.Writer
	Now        func() time.Time
	// Relay is how backends' secrets are read, and their functions invoked. Where a backend is,
	// its function's environment says.
	Relay relay.Options
	// Brake adds the function "brake"; nil leaves it out.
	Brake *Brake
	// LocalToken opens /_local/; without one there is nothing below it.
	LocalToken string
	// Door is what /mcp is reached by in the place of the REST API; nil means that.
	Door *Door
	// OAuthDoor is where those who sign in reach /mcp; nil means nowhere. mcp must dispatch calls
	// itself.
	OAuthDoor *OAuthDoor
	// Wrap puts something around each handler, for measurements; nil leaves them alone.
	Wrap func(function string, handler lambda.Invoker) lambda.Invoker
}

// FunctionsOf are the functions of a contract, all with one environment.
func FunctionsOf(api *contract.API, env map[string]string) map[string]Function {
	functions := map[string]Function{}
	for _, name := range append(api.Functions(), Authorizer, Settle) {
		functions[name] = Function{Function: lambda.Function{Reserved: lambda.Unreserved}, Env: env}
	}
	return functions
}

// Defaults are the functions of the default contract, all with one environment.
func Defaults(env map[string]string) map[string]Function {
	api, err := contract.Default()
	if err != nil {
		panic(err) // it is embedded, and tested
	}
	return FunctionsOf(api, env)
}

// Service is a running laptop. It is safe for concurrent use.
type Service struct {
	Functions *lambda.Functions
	// Brake is nil where the configuration has none.
	Brake *brake.Brake

	api          *contract.API
	gateway      *apigateway.Gateway
	subscription *lambda.Subscription
	dispatched   *dispatchLog
	topics       *lambda.Topics
	local        http.Handler
	door, oauth  http.Handler // nil without one
	client       *http.Client
	now          func() time.Time
	log          *zap.Logger

	calls calls
	// direct: mcp dispatches calls itself.
	direct bool
}

// New builds all functions and the gateway before them.
func New(c Config) (*Service, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{now: c.Now, client: &http.Client{Transport: &http.Transport{
		MaxIdleConns: 256, MaxIdleConnsPerHost: 256, IdleConnTimeout: 30 * time.Second,
	}}}
	var err error
	if err = s.loadContract(&c); err != nil {
		return nil, err
	}
	if s.log, err = boot.NewLogger(boot.Map(nil), "gateway", c.Log); err != nil {
		return nil, err
	}
	s.dispatched = &dispatchLog{log: c.Log, file: c.Dispatched, now: c.Now, errors: s.log, admitted: map[string][]string{}, failed: map[string]bool{}}
	functions := map[string]lambda.Function{}
	for name, f := range c.Functions {
		if f.Timeout == 0 {
			f.Timeout = s.api.Function(name).Timeout
		}
		if functions[name], err = s.deploy(c, name, f); err != nil {
			return nil, err
		}
	}
	if s.Functions, err = lambda.New(functions, s.log); err != nil {
		return nil, err
	}
	if s.gateway, err = s.newGateway(c); err != nil {
		return nil, err
	}
	s.topics = lambda.NewTopics(s.Functions, BrakeFunction, c.Now, s.log)
	if c.Brake != nil {
		if err := s.addBrake(c); err != nil {
			return nil, fmt.Errorf("brake: %w", err)
		}
	}
	s.door = s.newDoor(c)
	if s.oauth, err = s.newOAuthDoor(c); err != nil {
		return nil, err
	}
	s.local = localAPI{service: s, address: c.Gateway.Domain, token: c.LocalToken}.handler()
	s.subscription.Start()
	return s, nil
}

// loadContract has every function and the gateway read the same contract.
func (s *Service) loadContract(c *Config) (err error) {
	if s.api, err = contract.Load(boot.Map(map[string]string{contract.FileVariable: c.Contract})); err != nil || c.Contract == "" {
		return err
	}
	c.Functions = maps.Clone(c.Functions)
	for name, f := range c.Functions {
		f.Env = maps.Clone(f.Env)
		if f.Env == nil {
			f.Env = map[string]string{}
		}
		f.Env[contract.FileVariable] = c.Contract
		c.Functions[name] = f
	}
	if c.Gateway.Description == nil {
		c.Gateway.Description, err = os.ReadFile(c.Contract)
	}
	return err
}

func (s *Service) newGateway(c Config) (*apigateway.Gateway, error) {
	g := c.Gateway
	if g.StageVariables == nil {
		g.StageVariables = s.api.StageVariables["open"]
	}
	if !slices.Contains(s.Functions.Names(), Settle) {
		return nil, fmt.Errorf("function %s is missing: nothing would give back the units of failed calls", Settle)
	}
	s.subscription = lambda.NewSubscription(s.Functions, Settle, "/sekisho/"+g.Stage+"/access", s.log)
	if c.Door != nil {
		g.Elsewhere = MCP
	}
	s.dispatched.subscription = s.subscription
	g.Functions, g.Authorizer, g.Subscription, g.Now, g.Log = s.Functions, Authorizer, s.subscription, c.Now, s.log
	return apigateway.New(g)
}

// deploy makes the handler of a function, unless it is given.
func (s *Service) deploy(c Config, name string, f Function) (lambda.Function, error) {
	if f.Handler == nil {
		out := c.Log
		if f.direct(name) {
			out, f.Ended = s.dispatched, s.dispatched.ended
		}
		log, err := boot.NewLogger(boot.Map(f.Env), name, out)
		if err != nil {
			return lambda.Function{}, err
		}
		stores := f.Stores
		if stores == nil {
			stores = c.Stores
		}
		rt := boot.Runtime{Function: name, Env: boot.Map(f.Env), Log: log, Now: c.Now}
		f.Handler, err = build(rt, s.api, deps{stores: stores, relay: c.Relay, mcp: s.mcpPlatform(), settle: s.settlePlatform()})
		if err != nil {
			return lambda.Function{}, err
		}
	}
	s.direct = s.direct || f.direct(name)
	if c.Wrap != nil {
		f.Handler = c.Wrap(name, f.Handler)
	}
	return f.Function, nil
}

// usageTopic is where people hear on the laptop that a key has used much of its month: at
// /_local/topics/usage.
type usageTopic struct{ *Service }

func (t usageTopic) Publish(_ context.Context, subject, message string) error {
	t.topics.Record(UsageTopic, events.SNSEntity{Subject: subject, Message: message})
	return nil
}

// Flush waits until the failed calls up to now are settled. The error is that of ctx.
func (s *Service) Flush(ctx context.Context) error { return s.subscription.Flush(ctx) }

// Close settles what is left and stops everything. It waits no longer than ctx.
func (s *Service) Close(ctx context.Context) error {
	err := s.subscription.Close(ctx)
	if err != nil {
		err = fmt.Errorf("some failed calls could not be settled in time; the next start does it: %w", err)
	}
	err = errors.Join(err, s.Functions.Close(ctx))
	s.topics.Wait() // short: the invocations have ended
	s.client.CloseIdleConnections()
	return err
}
