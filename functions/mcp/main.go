// Command mcp is the Lambda function that speaks MCP and takes tool calls to their functions.
package main

import (
	"context"

	"sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/function"
	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/trace/otlp"
)

func main() {
	boot.Main("mcp", otlp.Traced(mcpserver.FromEnv(dynamo.Connected, mcpserver.Platform{Functions: functions, Braked: braked})))
}

func functions(env boot.Env, names map[string]string) (map[string]backend.Invoker, error) {
	cfg, err := config.Config(env)
	if err != nil {
		return nil, err
	}
	return function.All(cfg, names), nil
}

// braked reads the parameter by which the brake tells deploys of its state.
func braked(env boot.Env) (func(context.Context) (bool, error), error) {
	name := env(boot.BrakeParameter)
	if name == "" {
		return nil, nil
	}
	read, err := parameter.FromEnv(env, backend.Place{Parameter: name})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (bool, error) {
		state, err := read(ctx)
		return state == brake.StateName(true), err
	}, nil
}
