package trace_test

import (
	"net/http"
	"testing"

	"sekisho/functions/internal/trace"
)

// TestFreeWhereNobodyTraces: not an allocation.
func TestFreeWhereNobodyTraces(t *testing.T) {
	ctx, h := t.Context(), http.Header{}
	if n := testing.AllocsPerRun(100, func() {
		ctx, span := trace.Start(trace.Continue(ctx, "", ""), trace.Server, "work")
		span.Set("a", "b")
		span.SetInt("n", 1)
		span.Name("other")
		trace.Inject(ctx, h)
		_ = trace.Field(ctx)
		span.End("")
	}); n != 0 || len(h) != 0 {
		t.Errorf("%v allocations, %v", n, h)
	}
}
