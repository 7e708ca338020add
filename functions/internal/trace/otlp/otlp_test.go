package otlp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/trace"
	"sekisho/functions/internal/trace/otlp"
)

type invoker func(context.Context, []byte) ([]byte, error)

func (f invoker) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

// traced is a function that makes one span.
func traced(t *testing.T, env map[string]string) (boot.Invoker, *observer.ObservedLogs, error) {
	t.Helper()
	t.Cleanup(func() { trace.Use(nil) })
	core, logs := observer.New(zap.InfoLevel)
	f, err := otlp.Traced(func(boot.Runtime) (boot.Invoker, error) {
		return invoker(func(ctx context.Context, payload []byte) ([]byte, error) {
			_, span := trace.Start(ctx, trace.Server, "work")
			span.Set("a", "b")
			span.End("not_found")
			return payload, nil
		}), nil
	})(boot.Runtime{Function: "mcp", Env: boot.Map(env), Log: zap.New(core)})
	return f, logs, err
}

// TestSentBeforeTheInvocationEnds, since the instance stands still from then on.
func TestSentBeforeTheInvocationEnds(t *testing.T) {
	var got atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got.Store(string(body))
	}))
	defer server.Close()
	f, logs, err := traced(t, map[string]string{otlp.Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Invoke(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	body, _ := got.Load().(string)
	for _, want := range []string{`"name":"work"`, `"kind":2`, `{"key":"a","value":{"stringValue":"b"}}`, `"code":2`, `{"key":"service.name","value":{"stringValue":"mcp"}}`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if logs.Len() != 0 {
		t.Error(logs.All())
	}
}

// TestACollectorThatFailsIsNotTheCallers, and its address stays out of the log.
func TestACollectorThatFailsIsNotTheCallers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	gone := httptest.NewServer(nil)
	gone.Close()
	defer server.Close()
	for name, url := range map[string]string{"refuses": server.URL, "is gone": gone.URL} {
		t.Run(name, func(t *testing.T) {
			f, logs, err := traced(t, map[string]string{otlp.Endpoint: url + "/SECRET"})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := f.Invoke(t.Context(), []byte("1"))
			if err != nil || string(answer) != "1" {
				t.Errorf("%s, %v", answer, err)
			}
			if lines := logs.FilterMessage("spans were not sent").All(); len(lines) != 1 || strings.Contains(lines[0].ContextMap()["error"].(string), "SECRET") {
				t.Errorf("log %v", logs.All())
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"off":         {nil, ""},
		"no URL":      {map[string]string{otlp.Endpoint: "localhost:4318"}, otlp.Endpoint + ": want a URL"},
		"ratio":       {map[string]string{otlp.Endpoint: "http://127.0.0.1:1", otlp.Ratio: "1.5"}, otlp.Ratio + ": want a number from 0 to 1"},
		"header":      {map[string]string{otlp.Endpoint: "http://127.0.0.1:1", otlp.Headers: "SECRET"}, otlp.Headers + ": want name=value"},
		"good header": {map[string]string{otlp.Endpoint: "http://127.0.0.1:1", otlp.Headers: "a=b%20c, d=e"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := traced(t, c.env)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if trace.On() != (c.want == "" && c.env != nil) {
				t.Error("on:", trace.On())
			}
		})
	}
}

// TestRatio: of no trace that a caller wants sampled, where none is to be.
func TestRatio(t *testing.T) {
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer server.Close()
	f, _, err := traced(t, map[string]string{otlp.Endpoint: server.URL, otlp.Ratio: "0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.Continue(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "")
	if _, err := f.Invoke(ctx, nil); err != nil || sent.Load() != 0 {
		t.Errorf("%v, %d sent", err, sent.Load())
	}
}
