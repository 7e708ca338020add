package metricmath

import (
	"math"
	"testing"
	"time"
)

func TestEval(t *testing.T) {
	day := func(month time.Month, date int) time.Time { return time.Date(2026, month, date, 0, 0, 0, 0, time.UTC) }
	frame := Frame{
		Times:   []time.Time{day(10, 31), day(11, 1), day(11, 2)},
		Metrics: map[string]Series{"a": {1, Missing, 3}, "b": {4, 5, 2}},
	}
	for expression, want := range map[string]Series{
		"1 + 2 * 3":                 {7, 7, 7},
		"(1 + 2) * 3 - 8 / 4":       {7, 7, 7},
		"10 - 2 - 3":                {5, 5, 5},
		"a + b":                     {5, Missing, 5},
		"FILL(a, 0) + b":            {5, 5, 5},
		"FILL(a, b) * 2":            {2, 10, 6},
		"IF(a > b, a - b, 0)":       {0, Missing, 1},
		"FILL(a, 0) >= 1":           {1, 0, 1},
		"(b == 5) + (b != 5)":       {1, 1, 1},
		"MAX(a)":                    {3, 3, 3},
		"RUNNING_SUM(b)":            {4, 9, 11},
		"DATE(b)":                   {31, 1, 2},
		"EPOCH(b) - EPOCH(b) + 0.5": {0.5, 0.5, 0.5},
		"e * 2":                     {8, 10, 4},
	} {
		frame.Expressions = map[string]string{"x": expression, "e": "b"}
		got, err := frame.Eval("x")
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				t.Errorf("%s is %v, want %v", expression, got, want)
				break
			}
		}
	}
}

func TestEvalRefuses(t *testing.T) {
	for _, expression := range []string{
		"", "1 +", "(1", "1 2", "nobody", "SEARCH(1)", "FILL(1)", "FILL(1, 2", "x", "y", "1 & 2",
	} {
		frame := Frame{Times: make([]time.Time, 1), Expressions: map[string]string{"x": expression, "y": "x"}}
		if got, err := frame.Eval("x"); err == nil {
			t.Errorf("%q is %v, want an error", expression, got)
		}
	}
}
