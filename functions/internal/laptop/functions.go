package laptop

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler"
	"sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/handler/authorizer"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/handler/settle"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/store"
)

// Names of the functions that serve no operation of the contract.
const (
	Authorizer = "authorizer"
	Settle     = "settle"
)

// deps are what differs between a function here and in AWS.
type deps struct {
	stores store.Store
	client *http.Client
	// relay is how backends' secrets are read, and their functions invoked.
	relay relay.Options
	// usageTopic hears of crossed thresholds.
	usageTopic settle.Publisher
}

// builds are what the functions' mains hand to boot.Main, over other stores. The functions of
// backends are the contract's.
func builds(api *contract.API, d deps) map[string]boot.Build {
	open := func(boot.Env, ...string) (store.Store, error) { return d.stores, nil }
	all := map[string]boot.Build{
		Authorizer: authorizer.FromEnv(open),
		Settle:     settle.FromEnv(open, func(boot.Env, string) (settle.Publisher, error) { return d.usageTopic, nil }),
		"account":  account.FromEnv(open),
		"mcp":      mcpserver.FromEnv(open, d.client),
	}
	for name, operations := range handler.Functions() {
		all[name] = rest.FromEnv(operations)
	}
	for name := range api.Backends {
		all[name] = relay.FromEnv(open, d.relay)
	}
	return all
}

// names are those of the functions that this program has, with the contract that an environment
// names.
func names(env map[string]string) []string {
	api, err := contract.Load(boot.Map(env))
	if err != nil {
		api = &contract.API{} // build says what is wrong
	}
	return slices.Sorted(maps.Keys(builds(api, deps{})))
}

// build makes a function.
func build(rt boot.Runtime, d deps) (boot.Invoker, error) {
	api, err := contract.Load(rt.Env)
	if err != nil {
		return nil, err
	}
	b, ok := builds(api, d)[rt.Function]
	if !ok {
		return nil, fmt.Errorf("no function is called %q", rt.Function)
	}
	invoker, err := b(rt)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", rt.Function, err)
	}
	return invoker, nil
}
