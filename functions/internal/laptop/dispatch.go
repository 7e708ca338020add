package laptop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/settle"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/mcpserver"
)

// MCP is the function whose way to the others differs between topologies.
const MCP = "mcp"

// direct says that a function dispatches calls itself.
func (f Function) direct(name string) bool { return name == MCP && f.Env[boot.Dispatch] == boot.Direct }

// dispatch is how mcp gets calls to their functions.
func (s *Service) dispatch() string {
	if s.direct {
		return boot.Direct
	}
	return boot.Proxy
}

// mcpPlatform is what mcp has in AWS.
func (s *Service) mcpPlatform() mcpserver.Platform {
	return mcpserver.Platform{
		Client: s.client,
		Functions: func(_ boot.Env, names map[string]string) (map[string]backend.Invoker, error) {
			all := map[string]backend.Invoker{}
			for own, name := range names {
				all[own] = invoker{s, name}
			}
			return all, nil
		},
		Braked: func(boot.Env) (func(context.Context) (bool, error), error) {
			return func(context.Context) (bool, error) {
				return brake.Says(s.gateway.Settings().Variables, s.api.StageVariables), nil
			}, nil
		},
	}
}

func (s *Service) settlePlatform() settle.Platform {
	return settle.Platform{
		Topic:      func(boot.Env, string) (settle.Publisher, error) { return usageTopic{s}, nil },
		Admissions: func(boot.Env, string) (settle.Admissions, error) { return s.dispatched, nil },
	}
}

// invoker invokes one function, by its name with or without an alias.
type invoker struct {
	service *Service
	name    string
}

func (i invoker) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	name, _, _ := strings.Cut(i.name, ":")
	own := i.service.Functions.Find(name)
	if own == "" {
		return nil, &backend.NotInvokedError{Err: errors.New("there is no function " + name)}
	}
	limit := time.Duration(0)
	if until, ok := ctx.Deadline(); ok {
		limit = max(time.Until(until), time.Nanosecond)
	}
	type outcome struct {
		answer []byte
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		answer, err := i.service.Functions.Invoke(own, payload, limit)
		done <- outcome{answer, err}
	}()
	select {
	case o := <-done:
		return o.answer, invokeError(o.err)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// invokeError is what Lambda's API would say.
func invokeError(err error) error {
	var failed *lambda.Failure
	switch {
	case errors.Is(err, lambda.ErrThrottled):
		return backend.ErrBusy
	case errors.Is(err, lambda.ErrTimedOut):
		return &backend.FailedError{Type: "Sandbox.Timedout"}
	case errors.As(err, &failed):
		return &backend.FailedError{Type: "Unhandled"}
	case errors.Is(err, lambda.ErrNotWaited):
		return context.DeadlineExceeded
	}
	return err
}

// Dispatching are the variables with which mcp dispatches calls as named, to the functions of the
// contract.
func Dispatching(api *contract.API, dispatch string) (map[string]string, error) {
	dispatch, err := boot.ParseDispatch(dispatch)
	if err != nil || dispatch == boot.Proxy {
		return nil, err
	}
	functions, err := servedNames(api)
	return map[string]string{boot.Dispatch: dispatch, boot.Functions: functions}, err
}

// servedNames are the functions that serve tools, as mcp's environment has them.
func servedNames(api *contract.API) (string, error) {
	names := map[string]string{}
	for _, op := range api.Tools() {
		names[op.Function] = op.Function
	}
	text, err := json.Marshal(names)
	return string(text), err
}
