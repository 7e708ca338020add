// Package trace carries a caller's trace through the service: W3C trace context
// (https://www.w3.org/TR/trace-context/) from a request's headers, or from the _meta of an MCP message
// (modelcontextprotocol.io, SEP-414), to the log lines and on to the upstream.
//
// That costs nothing where no caller sends it. Spans of our own are made only after Use; package
// otlp, which sends them, is linked by the functions that make some.
package trace

import (
	"context"
	"net/http"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// Names of the headers and of the members of _meta.
const (
	Parent = "traceparent"
	State  = "tracestate"
)

// Kinds of spans.
const (
	Server = trace.SpanKindServer
	Client = trace.SpanKindClient
)

// scope names whoever makes the spans.
const scope = "sekisho"

var tracer atomic.Pointer[trace.Tracer]

// Use has spans made by a provider from here on; nil makes none. It is for the start of a process.
func Use(p trace.TracerProvider) {
	if p == nil {
		tracer.Store(nil)
		return
	}
	t := p.Tracer(scope)
	tracer.Store(&t)
}

// On says whether spans are made.
func On() bool { return tracer.Load() != nil }

// Continue takes up the trace that a caller sent. A traceparent that is not one is as good as none,
// and a tracestate that is not one is left out, as the recommendation has it.
func Continue(ctx context.Context, parent, state string) context.Context {
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Parent: parent, State: state})
}

// Inject sets the headers that continue the trace elsewhere, if there is one.
func Inject(ctx context.Context, h http.Header) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Start begins a span, and returns the context of what happens in it. End it with End.
func Start(ctx context.Context, kind trace.SpanKind, name string) (context.Context, Span) {
	t := tracer.Load()
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := (*t).Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, Span{s}
}

// Span is a span that has begun. Nothing becomes of the zero value.
type Span struct{ span trace.Span }

func (s Span) on() bool { return s.span != nil && s.span.IsRecording() }

// Set adds an attribute, named as OpenTelemetry's conventions have it
// (https://opentelemetry.io/docs/specs/semconv/). It must hold nothing that a caller wrote.
func (s Span) Set(name, value string) {
	if value != "" && s.on() {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// SetInt adds a number.
func (s Span) SetInt(name string, value int) {
	if s.on() {
		s.span.SetAttributes(attribute.Int(name, value))
	}
}

// Name renames the span, once it is known what the call is for.
func (s Span) Name(name string) {
	if s.on() {
		s.span.SetName(name)
	}
}

// End ends the span. failed is a problem's code or another word from a list of ours, "" for a call
// that went well.
func (s Span) End(failed string) {
	if !s.on() {
		return
	}
	if failed != "" {
		s.Set("error.type", failed)
		s.span.SetStatus(codes.Error, failed)
	}
	s.span.End()
}

// Traced says whether there is a trace.
func Traced(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).HasTraceID() }

// Field is the trace's ID for a log line, and no field without a trace.
func Field(ctx context.Context) zap.Field {
	if !Traced(ctx) {
		return zap.Skip()
	}
	return zap.String("trace_id", trace.SpanContextFromContext(ctx).TraceID().String())
}
