package relay

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/calendar"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/store"
)

// BenchmarkCall: the CPU of one call of the relay, with its requests over a real socket, beside
// one of calendar, which asks nobody. The backend shares the process, and so its CPU is in it.
func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":7,"name":"an order","lines":[{"sku":"a","n":1},{"sku":"b","n":2}]}`)
	}))
	defer server.Close()
	secrets := Options{Secret: func(boot.Env, backend.Place) (func(context.Context) (string, error), error) {
		return func(context.Context) (string, error) { return "0123456789abcdef", nil }, nil
	}}
	place := backend.Place{Parameter: "/p"}
	plain := backend.Settings{URL: server.URL, Private: true, Auth: &backend.Auth{Type: backend.Bearer, Place: place}}
	signing := plain
	signing.Signing = &place
	open := func(boot.Env, ...string) (store.Store, error) { return limitsOnly{}, nil } // the contract limits publications
	const fetch = `{"httpMethod":"GET","resource":"/v1/external/stats/{resource_id}","pathParameters":{"resource_id":"demo"}}`
	for name, c := range map[string]struct {
		function string
		build    boot.Build
		env      boot.Env
		event    string
	}{
		"calendar":      {"calendar", rest.FromEnv(calendar.Operations), boot.Map(nil), `{"httpMethod":"GET","resource":"/v1/calendar/holidays","queryStringParameters":{"year":"2026"}}`},
		"relay":         {"external", FromEnv(open, secrets), boot.Map(map[string]string{boot.Backend: plain.String()}), fetch},
		"relay, signed": {"external", FromEnv(open, secrets), boot.Map(map[string]string{boot.Backend: signing.String()}), fetch},
	} {
		b.Run(name, func(b *testing.B) {
			f, err := c.build(boot.Runtime{Function: c.function, Env: c.env, Log: zap.NewNop(), Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Invoke(b.Context(), []byte(c.event)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
