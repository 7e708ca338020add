package mcpserver

import (
	"net/http"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/store"
)

// FromEnv builds the function "mcp" of a deployment. Its environment says how long a key is
// trusted, which web origins may call, and how tools are named. client may be nil.
func FromEnv(open store.Open, client *http.Client) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load()
		if err != nil {
			return nil, err
		}
		s, err := open(rt.Env, boot.AccountsTable)
		if err != nil {
			return nil, err
		}
		cache, err := rt.Env.Seconds(boot.KeyCacheSeconds, account.DefaultKeyCache)
		if err != nil {
			return nil, err
		}
		handle, err := Handler(Config{
			API:            api,
			Authenticator:  account.NewAuthenticator(s.Accounts(), rt.Now, cache),
			Client:         client,
			AllowedOrigins: rt.Env.List(boot.AllowedOrigins),
			ToolNames:      ToolNames(rt.Env(boot.ToolNames)),
			Log:            rt.Log,
			Version:        boot.Version(),
			Now:            rt.Now,
		})
		if err != nil {
			return nil, err
		}
		return boot.Handle(handle), nil
	}
}
