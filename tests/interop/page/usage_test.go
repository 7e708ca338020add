//go:build interop

package page

import (
	"testing"
	"time"
)

// TestUsage: gauges, charts and tables of a year, and the days of another month.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy)
	s.seed(t, key)
	b := open(t, s)
	b.signIn(key.Key)
	for _, limit := range []string{"monthly", "daily", "rate"} {
		b.wait("a gauge of "+limit, `document.querySelector('[data-limit="`+limit+`"] progress').checkVisibility()`)
	}
	for _, chart := range []string{"months", "days"} {
		b.wait("a chart of "+chart, `(() => {
			const canvas = document.querySelector("#`+chart+` canvas");
			if (!canvas || canvas.width === 0) return false;
			return new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size > 10;
		})()`)
	}
	if rows := js[int](b, `document.querySelectorAll("#months-table tbody tr").length`); rows != 13 {
		t.Errorf("%d months", rows)
	}
	b.look(t, "usage")
	js[any](b, `for (const d of document.querySelectorAll("details")) d.open = true; null`)
	b.look(t, "usage, tables")
	b.asked()

	now := time.Now().UTC()
	last := time.Date(now.Year(), now.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	js[any](b, `(() => { const m = document.querySelector("#month"); m.value = `+quoted(last.Format("2006-01"))+`; m.dispatchEvent(new Event("change")); })()`)
	b.wait("the days of that month", ready+` && document.querySelectorAll("#days-table tbody tr").length === `+last.AddDate(0, 1, -1).Format("2")+
		` && document.querySelector("#month").value === `+quoted(last.Format("2006-01")))
	if asked := b.asked(); len(asked) != 1 || asked[0] != "GET "+historyPath+"?month="+last.Format("2006-01") {
		t.Errorf("another month asks %v", asked)
	}
	if tools := js[int](b, `document.querySelectorAll("#by-tool [data-tool]").length`); tools < 2 {
		t.Errorf("%d tools", tools)
	}
}

// TestUnlimited: a plan without limits has no gauges.
func TestUnlimited(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := open(t, s)
	b.signIn(s.key(t, free).Key)
	b.wait("it says so", `document.querySelector("#no-limit") && !document.querySelector("[data-limit]")`)
	b.look(t, "no limits, no calls")
}
