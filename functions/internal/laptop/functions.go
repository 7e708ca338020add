package laptop

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler"
	"sekisho/functions/internal/handler/account"
	"sekisho/functions/internal/handler/authorizer"
	"sekisho/functions/internal/handler/external"
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
	client   *http.Client
	upstream Upstream
	// usageTopic hears of crossed thresholds.
	usageTopic settle.Publisher
}

// builds are what the functions' mains hand to boot.Main, over other stores.
func builds(d deps) map[string]boot.Build {
	open := func(boot.Env, ...string) (store.Store, error) { return d.stores, nil }
	token := func(boot.Env, string) (func(context.Context) (string, error), error) { return d.upstream.Token, nil }
	all := map[string]boot.Build{
		Authorizer: authorizer.FromEnv(open),
		Settle:     settle.FromEnv(open, func(boot.Env, string) (settle.Publisher, error) { return d.usageTopic, nil }),
		"account":  account.FromEnv(open),
		"mcp":      mcpserver.FromEnv(open, d.client),
		"external": external.FromEnv(open, external.Options{Token: token, AllowPrivate: d.upstream.Private}),
	}
	for name, operations := range handler.Functions() {
		all[name] = rest.FromEnv(operations)
	}
	return all
}

// names are those of the functions that this program has.
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
