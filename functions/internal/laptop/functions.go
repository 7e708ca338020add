package laptop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler"
	"sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/handler/authorizer"
	"sekisho/functions/internal/handler/page"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/handler/settle"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/oauth"
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
	mcp    mcpserver.Platform
	settle settle.Platform
	// relay is how backends' secrets are read, and their functions invoked.
	relay relay.Options
}

// builds are what the functions' mains hand to boot.Main, over other stores.
func builds(d deps) map[string]boot.Build {
	open := func(boot.Env, ...string) (store.Store, error) { return d.stores, nil }
	all := map[string]boot.Build{
		Authorizer: authorizer.FromEnv(open),
		Settle:     settle.FromEnv(open, d.settle),
		"account":  account.FromEnv(open),
		"mcp":      mcpserver.FromEnv(open, d.mcp),
		"oauth":    oauth.FromEnv(open),
		"page":     page.Build,
		"relay":    relay.FromEnv(open, d.relay),
	}
	for name, operations := range handler.Functions() {
		all[name] = rest.FromEnv(operations)
	}
	return all
}

// names are those of the binaries that this program has.
func names() []string { return slices.Sorted(maps.Keys(builds(deps{}))) }

// build makes a function of a contract. Several may be of one binary.
func build(rt boot.Runtime, api *contract.API, d deps) (boot.Invoker, error) {
	b, ok := builds(d)[api.Binary(rt.Function)]
	if !ok {
		return nil, fmt.Errorf("function %s: this program has no function %q; it has %s", rt.Function, api.Binary(rt.Function), strings.Join(names(), ", "))
	}
	invoker, err := b(rt)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", rt.Function, err)
	}
	return invoker, nil
}
