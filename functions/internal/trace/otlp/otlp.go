// Package otlp sends spans to an OpenTelemetry collector, as OTLP over HTTP in its JSON form
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
//
// The official exporter brings gRPC and protobuf along: 5.8 MB in every function, where the SDK alone
// takes one. The SDK makes, samples and gathers the spans; only the message is written here.
package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/trace"
)

// Variables of OpenTelemetry's own naming (opentelemetry.io/docs/specs/otel/protocol/exporter and
// …/configuration/sdk-environment-variables). The SDK reads others, such as those of limits.
const (
	// Endpoint is the collector's base URL, such as http://localhost:4318. Without it tracing is off.
	Endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	// Headers go along: name=value, separated by commas, values percent-encoded.
	Headers = "OTEL_EXPORTER_OTLP_HEADERS"
	// Ratio of the traces that are kept, 0 to 1; 1 if not set. A caller's own wish does not count,
	// since it is not the caller who pays.
	Ratio = "OTEL_TRACES_SAMPLER_ARG"
)

// patience is how long an answer of the collector is waited for: the caller waits too.
const patience = time.Second

// Traced adds tracing to a function, if its environment asks for it. Spans are sent before the
// invocation ends, as an instance stands still between two.
func Traced(build boot.Build) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		flush, err := Start(rt.Env, rt.Function, rt.Log)
		if err != nil {
			return nil, err
		}
		invoker, err := build(rt)
		if err != nil || flush == nil {
			return invoker, err
		}
		return boot.After(invoker, flush), nil
	}
}

// Start has the process make spans and send them, if env names a collector. service is the name that
// they are shown under. flush sends what has ended, and logs what could not be sent; it is nil where
// tracing is off.
func Start(env boot.Env, service string, log *zap.Logger) (flush func(), err error) {
	if env(Endpoint) == "" {
		return nil, nil
	}
	e, err := newExporter(env)
	if err != nil {
		return nil, err
	}
	ratio := 1.0
	if env(Ratio) != "" {
		if ratio, err = env.Float(Ratio, 1); err != nil || ratio > 1 {
			return nil, fmt.Errorf("%s: want a number from 0 to 1, not %q", Ratio, env(Ratio))
		}
	}
	provider := sdk.NewTracerProvider(
		sdk.WithBatcher(e), sdk.WithSampler(sdk.TraceIDRatioBased(ratio)),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", boot.Version()))),
	)
	trace.Use(provider)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := provider.ForceFlush(ctx); err != nil {
			log.Warn("spans were not sent", zap.Error(err))
		}
	}, nil
}

type exporter struct {
	url    string
	header http.Header
	client *http.Client
}

func newExporter(env boot.Env) (*exporter, error) {
	base, err := url.Parse(env(Endpoint))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%s: want a URL such as http://localhost:4318", Endpoint)
	}
	e := &exporter{url: base.JoinPath("v1", "traces").String(), header: http.Header{}, client: &http.Client{Timeout: patience}}
	for _, pair := range env.List(Headers) {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: want name=value, separated by commas, with values percent-encoded", Headers)
		}
		e.header.Set(strings.TrimSpace(name), value)
	}
	e.header.Set("Content-Type", "application/json")
	return e, nil
}

func (*exporter) Shutdown(context.Context) error { return nil }

// ExportSpans sends spans. The error has no URL in it, which can hold a secret.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	body, err := json.Marshal(message(spans))
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = e.header
	answer, err := e.client.Do(r)
	if failed, ok := err.(*url.Error); ok {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("the collector: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection is kept
	if answer.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("the collector answered HTTP %d", answer.StatusCode)
	}
	return nil
}

// The message, of ExportTraceServiceRequest, with the members that we fill
// (github.com/open-telemetry/opentelemetry-proto). IDs are hexadecimal in its JSON, and numbers of 64
// bits are strings.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID      string `json:"traceId"`
		SpanID       string `json:"spanId"`
		TraceState   string `json:"traceState,omitempty"`
		ParentSpanID string `json:"parentSpanId,omitempty"`
		Name         string `json:"name"`
		Kind         int    `json:"kind"`
		Start        string `json:"startTimeUnixNano"`
		End          string `json:"endTimeUnixNano"`
		attributes
		Status struct {
			Code    int    `json:"code,omitempty"`
			Message string `json:"message,omitempty"`
		} `json:"status"`
	}
	attributes struct {
		Attributes []pair `json:"attributes,omitempty"`
	}
	pair struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

func message(spans []sdk.ReadOnlySpan) request {
	if len(spans) == 0 {
		return request{}
	}
	all := scopeSpans{Spans: make([]span, len(spans))}
	all.Scope.Name = spans[0].InstrumentationScope().Name
	for i, s := range spans {
		all.Spans[i] = encode(s)
	}
	return request{[]resourceSpans{{Resource: pairs(spans[0].Resource().Attributes()), ScopeSpans: []scopeSpans{all}}}}
}

func encode(s sdk.ReadOnlySpan) span {
	own := s.SpanContext()
	out := span{
		TraceID: own.TraceID().String(), SpanID: own.SpanID().String(), TraceState: own.TraceState().String(),
		Name: s.Name(), Kind: int(s.SpanKind()), // the SDK's numbers are the protocol's
		Start: nano(s.StartTime()), End: nano(s.EndTime()), attributes: pairs(s.Attributes()),
	}
	if s.Parent().HasSpanID() {
		out.ParentSpanID = s.Parent().SpanID().String()
	}
	if s.Status().Code == codes.Error {
		out.Status.Code, out.Status.Message = 2, s.Status().Description
	}
	return out
}

func nano(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func pairs(list []attribute.KeyValue) (a attributes) {
	for _, kv := range list {
		value := map[string]any{"stringValue": kv.Value.String()}
		if kv.Value.Type() == attribute.INT64 {
			value = map[string]any{"intValue": kv.Value.String()}
		}
		a.Attributes = append(a.Attributes, pair{string(kv.Key), value})
	}
	return a
}
