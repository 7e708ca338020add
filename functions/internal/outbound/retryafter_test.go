package outbound

import (
	"net/http"
	"testing"
	"time"
)

var retryAfterNow = time.Date(2026, 11, 6, 8, 49, 37, 0, time.UTC)

func TestParseRetryAfter(t *testing.T) {
	const none = -1
	for value, want := range map[string]time.Duration{
		"0":      0,
		"1":      time.Second,
		"120":    2 * time.Minute,
		" 5 ":    5 * time.Second,
		`"5"`:    5 * time.Second,
		`'5'`:    5 * time.Second,
		"1.5":    1500 * ms,
		".25":    250 * ms,
		"+5":     5 * time.Second,
		"-5":     0,
		"30s":    30 * time.Second,
		"30 sec": 30 * time.Second, "30 seconds": 30 * time.Second,
		"2592001":                       maxRetryAfter,
		"999999999":                     maxRetryAfter,
		"99999999999999999999999999999": maxRetryAfter,
		"1793954987":                    10 * time.Second, // Unix time
		"1793954987.5":                  10500 * ms,
		"1793954987000":                 10 * time.Second, // in milliseconds
		"1793954987000000":              10 * time.Second, // in microseconds
		"1793954987000000000":           10 * time.Second, // in nanoseconds
		"1793954967000":                 0,                // ten seconds ago
		"1000000000":                    0,                // Unix time, long past
		"100000000000":                  0,                // in milliseconds, longer past

		"Fri, 06 Nov 2026 08:49:47 GMT":      10 * time.Second,
		"Friday, 06-Nov-26 08:49:47 GMT":     10 * time.Second,
		"Fri Nov  6 08:49:47 2026":           10 * time.Second,
		"Fri, 6 Nov 2026 08:49:47 GMT":       10 * time.Second,
		"Fri, 06 Nov 2026 08:49:47 UTC":      10 * time.Second,
		"Fri, 06 Nov 2026 09:49:47 +0100":    10 * time.Second,
		"2026-11-06T08:49:47Z":               10 * time.Second,
		`" Fri, 06 Nov 2026 08:49:47 GMT "`:  10 * time.Second,
		"Fri, 06 Nov 2026 08:49:37 GMT":      0,
		"Sun, 06 Nov 1994 08:49:37 GMT":      0,
		"Fri, 31 Dec 9999 23:59:59 GMT":      maxRetryAfter,
		"":                                   none,
		" ":                                  none,
		"soon":                               none,
		"inf":                                none,
		"NaN":                                none,
		"0x10":                               none,
		"1e3":                                none,
		"1_000":                              none,
		"5, 10":                              none,
		"-":                                  none,
		"1.2.3":                              none,
		"Fri, 06 Nov 2026 08:49:47 CET":      none, // which offset?
		"Fri, 31 Feb 2026 08:49:47 GMT":      none,
		"Fri, 06 Nov 2026 08:49:47 GMT junk": none,
	} {
		got, ok := parseRetryAfter(value, retryAfterNow)
		if !ok {
			got = none
		}
		if got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// The upstream's clock is ten minutes fast: its date is to be read by that clock.
func TestRetryAfterUsesTheUpstreamsClock(t *testing.T) {
	theirs := retryAfterNow.Add(10 * time.Minute)
	h := http.Header{
		"Date":        {theirs.Format(http.TimeFormat)},
		"Retry-After": {theirs.Add(3 * time.Second).Format(http.TimeFormat)},
	}
	if got := retryAfter(h, retryAfterNow); got != 3*time.Second {
		t.Errorf("got %s, want 3s", got)
	}
	h.Del("Date")
	if got := retryAfter(h, retryAfterNow); got != 10*time.Minute+3*time.Second {
		t.Errorf("without Date: got %s", got)
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"1", "1.5", `" 3 "`, "-1", "99999999999999999999", "Fri, 06 Nov 2026 08:49:47 GMT", "Friday, 06-Nov-26 08:49:47 GMT", "2026-11-06T08:49:47Z", "..", "s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		d, ok := parseRetryAfter(value, retryAfterNow)
		if d < 0 || d > maxRetryAfter || (!ok && d != 0) {
			t.Errorf("%q: %s, %t", value, d, ok)
		}
		// A later look at a date or a point in time never sees a longer wait.
		later, _ := parseRetryAfter(value, retryAfterNow.Add(time.Minute))
		if later > d {
			t.Errorf("%q: %s, and a minute later %s", value, d, later)
		}
	})
}
