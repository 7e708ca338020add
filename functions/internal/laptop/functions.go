package laptop

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler"
	"sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/handler/authorizer"
	"sekisho/functions/internal/handler/external"
	"sekisho/functions/internal/handler/page"
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

// Upstream is what the function "external" has on a laptop in the place of a token in
// Parameter Store. The function's environment names its address and its limits.
type Upstream struct {
	// Token is sent to it; nil sends none.
	Token func(context.Context) (string, error)
	// Private upstreams may be on a private or loopback address.
	Private bool
}

// deps are what differs between a function here and in AWS.
type deps struct {
	stores   store.Store
	mcp      mcpserver.Platform
	upstream Upstream
	settle   settle.Platform
}

// builds are what the functions' mains hand to boot.Main, over other stores.
func builds(d deps) map[string]boot.Build {
	open := func(boot.Env, ...string) (store.Store, error) { return d.stores, nil }
	token := func(boot.Env, string) (func(context.Context) (string, error), error) { return d.upstream.Token, nil }
	all := map[string]boot.Build{
		Authorizer: authorizer.FromEnv(open),
		Settle:     settle.FromEnv(open, d.settle),
		"account":  account.FromEnv(open),
		"mcp":      mcpserver.FromEnv(open, d.mcp),
		"page":     page.Build,
		"external": external.FromEnv(open, external.Options{Token: token, AllowPrivate: d.upstream.Private}),
	}
	for name, operations := range handler.Functions() {
		all[name] = rest.FromEnv(operations)
	}
	return all
}

// names are those of the functions that this program has.
func names() []string { return slices.Sorted(maps.Keys(builds(deps{}))) }

// build makes a function.
func build(rt boot.Runtime, d deps) (boot.Invoker, error) {
	b, ok := builds(d)[rt.Function]
	if !ok {
		return nil, fmt.Errorf("no function is called %q", rt.Function)
	}
	invoker, err := b(rt)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", rt.Function, err)
	}
	return invoker, nil
}
