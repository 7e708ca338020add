package laptop

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler"
	accounthandler "sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/handler/authorizer"
	"sekisho/functions/internal/handler/external"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/handler/settle"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// Names of the functions that no operation of the contract is given to.
const (
	Authorizer = "authorizer"
	Settle     = "settle"
)

// Stores are what the functions keep their state in.
type Stores interface {
	Accounts() account.Store
	Usage() usage.Store
	Buckets() ratelimit.BucketStore
	Dailies() ratelimit.DailyStore
	Brake(name string) brake.Memory
}

// Upstream is what the function "external" has on a laptop in the place of a token in
// Parameter Store. Where it is, and its limits, stand in the function's environment.
type Upstream struct {
	// Token is sent to it; nil sends none.
	Token func(context.Context) (string, error)
	// Private upstreams may be on a private or loopback address.
	Private bool
}

// deps are what a function is built from.
type deps struct {
	env      boot.Env
	stores   Stores
	log      *zap.Logger
	now      func() time.Time
	client   *http.Client
	upstream Upstream
}

// builders make the handler of each function: the same that its main gives to lambda.Start.
var builders = withServed(map[string]func(deps) (apigateway.Invoker, error){
	Authorizer: func(d deps) (apigateway.Invoker, error) {
		h, err := authorizer.New(d.env, d.stores.Accounts(), d.stores.Usage(), d.log, d.now)
		if err != nil {
			return nil, err
		}
		return apigateway.Handle(h.Handle), nil
	},
	Settle: func(d deps) (apigateway.Invoker, error) {
		h := &settle.Handler{Store: d.stores.Usage(), Log: d.log, Now: d.now}
		return apigateway.Handle(func(ctx context.Context, e events.CloudwatchLogsEvent) (struct{}, error) {
			return struct{}{}, h.Handle(ctx, e)
		}), nil
	},
	"account": func(d deps) (apigateway.Invoker, error) {
		s, err := accounthandler.New(d.env, d.stores.Accounts(), d.stores.Usage(), d.log, d.now)
		if err != nil {
			return nil, err
		}
		return apigateway.Handle(s.Handle), nil
	},
	"mcp": func(d deps) (apigateway.Invoker, error) {
		handle, err := mcpserver.FromEnv(d.env, d.stores.Accounts(), d.client, d.log, d.now)
		if err != nil {
			return nil, err
		}
		return apigateway.Handle(handle), nil
	},
	"external": func(d deps) (apigateway.Invoker, error) {
		s, err := external.New(d.env, external.Deps{
			Buckets: d.stores.Buckets(), Dailies: d.stores.Dailies(),
			Token: d.upstream.Token, AllowPrivate: d.upstream.Private, Log: d.log, Now: d.now,
		})
		if err != nil {
			return nil, err
		}
		return apigateway.Handle(s.Handle), nil
	},
})

// withServed adds the functions that are nothing but their operations.
func withServed(builders map[string]func(deps) (apigateway.Invoker, error)) map[string]func(deps) (apigateway.Invoker, error) {
	for name, operations := range handler.Functions() {
		builders[name] = served(name, operations)
	}
	return builders
}

// served builds a function that is nothing but its operations.
func served(function string, operations func() map[string]rest.Operation) func(deps) (apigateway.Invoker, error) {
	return func(d deps) (apigateway.Invoker, error) {
		api, err := contract.Load()
		if err != nil {
			return nil, err
		}
		s, err := rest.New(api, function, operations(), d.log, d.now)
		if err != nil {
			return nil, err
		}
		return apigateway.Handle(s.Handle), nil
	}
}

// build makes the function of a name.
func build(name string, d deps) (apigateway.Invoker, error) {
	builder, ok := builders[name]
	if !ok {
		return nil, fmt.Errorf("no function is called %q", name)
	}
	invoker, err := builder(d)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	return invoker, nil
}
