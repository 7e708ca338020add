package mcpserver

import (
	"context"
	"runtime/debug"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/gateway"
)

// requestID is the one that API Gateway made; the plain requestId a client can choose.
func requestID(ctx context.Context) string {
	if event, ok := gateway.Event(ctx); ok {
		return event.RequestContext.ExtendedRequestID
	}
	return ""
}

// knownMethod keeps what a caller wrote out of the log.
func knownMethod(method string) string {
	switch method {
	case "notifications/initialized", "notifications/cancelled", "notifications/progress", "notifications/roots/list_changed", listen:
		return method
	case "":
		return ""
	}
	if offered[method] {
		return method
	}
	return "other"
}

// logExchange writes the one line of a request. Nothing in it is the caller's text.
func (s *server) logExchange(x *exchange, status int, took time.Duration) {
	tool := ""
	if x.call != nil {
		tool = x.call.toolName()
	}
	s.Log.Info("mcp",
		zap.String("request_id", x.requestID),
		zap.String("key_id", x.keyID),
		zap.String("method", x.method),
		zap.String("tool", tool),
		zap.Int("status", status),
		zap.String("outcome", x.outcome),
		zap.Int64("ms", took.Milliseconds()),
	)
}

// survive keeps a panic in a goroutine of ours from ending the process. Use it deferred.
func (s *server) survive() {
	if v := recover(); v != nil {
		logPanic(s.Log, v, debug.Stack())
	}
}

// logPanic writes what is needed to find a panic.
func logPanic(log *zap.Logger, v any, stack []byte) {
	log.Error("panic", zap.String("panic", boot.Panic(v)), zap.ByteString("stack", stack))
}
