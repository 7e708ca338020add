package mcpserver

import (
	"net/http"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/config"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/lambdahttp"
	"sekisho/functions/internal/version"
)

// FromEnv makes the MCP function of a deployment out of its environment: how long a key is
// trusted, which web origins may call, and how tools are named. client may be nil.
func FromEnv(env config.Env, accounts account.Store, client *http.Client, log *zap.Logger, now func() time.Time) (lambdahttp.Func, error) {
	api, err := contract.Load()
	if err != nil {
		return nil, err
	}
	cache, err := env.Seconds(config.KeyCacheSeconds, account.DefaultKeyCache)
	if err != nil {
		return nil, err
	}
	return Handler(Config{
		API:            api,
		Authenticator:  account.NewAuthenticator(accounts, now, cache),
		Client:         client,
		AllowedOrigins: env.List(config.AllowedOrigins),
		ToolNames:      ToolNames(env(config.ToolNames)),
		Log:            log,
		Version:        version.Text(),
		Now:            now,
	})
}
