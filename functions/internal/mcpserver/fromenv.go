package mcpserver

import (
	"net/http"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
)

// FromEnv makes the MCP function of a deployment out of its environment: how long a key is
// trusted, which web origins may call, and how tools are named. client may be nil.
func FromEnv(env boot.Env, accounts account.Store, client *http.Client, log *zap.Logger, now func() time.Time) (gateway.Func, error) {
	api, err := contract.Load()
	if err != nil {
		return nil, err
	}
	cache, err := env.Seconds(boot.KeyCacheSeconds, account.DefaultKeyCache)
	if err != nil {
		return nil, err
	}
	return Handler(Config{
		API:            api,
		Authenticator:  account.NewAuthenticator(accounts, now, cache),
		Client:         client,
		AllowedOrigins: env.List(boot.AllowedOrigins),
		ToolNames:      ToolNames(env(boot.ToolNames)),
		Log:            log,
		Version:        boot.Version(),
		Now:            now,
	})
}
