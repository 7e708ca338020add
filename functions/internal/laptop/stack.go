package laptop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop/apigateway"
)

// Function is how one function is deployed.
type Function struct {
	// DeployedName is its name in AWS, where it is deployed there.
	DeployedName string
	// Env is its environment.
	Env map[string]string
	// Stores that its environment names; nil means those of the Config.
	Stores Stores
	// MemoryMB that it has in AWS, 0 where it is not deployed there.
	MemoryMB int
	// Timeout of one invocation; 0 means that of the contract's table.
	Timeout time.Duration
	// Reserved is its reserved concurrency: -1 unreserved, 0 off.
	Reserved int
}

// Config says what is served.
type Config struct {
	// Description is the API as JSON; nil means the contract as it is embedded.
	Description []byte
	// Functions by name. They must be all that the description names, with authorizer and
	// settle.
	Functions map[string]Function
	Stores    Stores
	// Domain is host and port that the gateway is reached at.
	Domain string
	// Stage and StageVariables as they are deployed; nil variables mean the contract's
	// state "open".
	Stage          string
	StageVariables map[string]string
	// StageInPath serves under /STAGE/…, as the address that AWS gives does.
	StageInPath bool
	// AccessLogFormat maps the fields of a record to variables; nil takes the description's.
	AccessLogFormat map[string]string
	// Throttle of the stage; nil means none.
	Throttle *apigateway.Throttle
	// Log takes the functions' log lines.
	Log io.Writer
	// AccessLog takes the gateway's record of every request; nil for none. See
	// apigateway.Config.AccessLogTo.
	AccessLog io.Writer
	Now       func() time.Time
	// Upstream of the function "external".
	Upstream Upstream
	// Brake adds the function "brake"; nil leaves it out.
	Brake *Brake
	// Replace puts a handler in the place of a function's own, for tests of failures.
	Replace map[string]apigateway.Invoker
	// Wrap puts something around each handler, for measurements; nil leaves them alone.
	Wrap func(function string, handler apigateway.Invoker) apigateway.Invoker
}

// Defaults are the functions of the contract, all with one environment.
func Defaults(env map[string]string) map[string]Function {
	functions := map[string]Function{}
	for name := range builders {
		functions[name] = Function{Env: env, Reserved: apigateway.Unreserved}
	}
	return functions
}

// Stack is a running service.
type Stack struct {
	*apigateway.Gateway
	// Brake is nil where the configuration has none.
	Brake  *brake.Brake
	client *http.Client
	log    *zap.Logger
}

// New builds all functions and the gateway before them.
func New(c Config) (*Stack, error) {
	api, err := contract.Load()
	if err != nil {
		return nil, err
	}
	if c.StageVariables == nil {
		c.StageVariables = api.StageVariables["open"]
	}
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConns: 256, MaxIdleConnsPerHost: 256, IdleConnTimeout: 30 * time.Second,
	}}
	functions := map[string]apigateway.Function{}
	for name, f := range c.Functions {
		invoker, err := c.invoker(name, f, client)
		if err != nil {
			return nil, err
		}
		if c.Wrap != nil {
			invoker = c.Wrap(name, invoker)
		}
		if f.Timeout == 0 {
			f.Timeout = api.Function(name).Timeout
		}
		functions[name] = apigateway.Function{
			Handler: invoker, DeployedName: f.DeployedName, MemoryMB: f.MemoryMB, Timeout: f.Timeout, Reserved: f.Reserved,
		}
	}
	s := &Stack{client: client}
	var acted *service
	var subscriber string
	if c.Brake != nil {
		if s.Brake, acted, err = c.addBrake(functions); err != nil {
			return nil, fmt.Errorf("stack: %w", err)
		}
		subscriber = BrakeFunction
	}
	gatewayLog, err := boot.NewLogger(boot.Map(nil), "gateway", c.Log)
	if err != nil {
		return nil, err
	}
	gateway, err := apigateway.New(apigateway.Config{
		Description: c.Description, Functions: functions, Authorizer: Authorizer, Settle: Settle, Subscriber: subscriber,
		Stage: c.Stage, StageInPath: c.StageInPath, StageVariables: c.StageVariables, AccessLog: c.AccessLogFormat,
		Domain: c.Domain, Throttle: c.Throttle, AccessLogTo: c.AccessLog, Now: c.Now, Log: gatewayLog,
	})
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	if acted != nil {
		acted.gateway.Store(gateway)
	}
	s.Gateway, s.log = gateway, gatewayLog
	return s, nil
}

func (c Config) invoker(name string, f Function, client *http.Client) (apigateway.Invoker, error) {
	if replacement, ok := c.Replace[name]; ok {
		return replacement, nil
	}
	env := boot.Map(f.Env)
	log, err := boot.NewLogger(env, name, c.Log)
	if err != nil {
		return nil, err
	}
	stores := f.Stores
	if stores == nil {
		stores = c.Stores
	}
	return build(name, deps{
		env: env, stores: stores, log: log, now: c.Now, client: client, upstream: c.Upstream,
	})
}

// Close settles what is left and stops.
func (s *Stack) Close(ctx context.Context) error {
	err := s.Gateway.Close(ctx)
	s.client.CloseIdleConnections()
	if err != nil {
		return errors.Join(errors.New("some failed calls could not be settled in time"), err)
	}
	return nil
}
