package outbound

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter caps what an upstream may ask for. Nothing that long is ever slept, and
// an agent reads "not today": the cap keeps a typing mistake from becoming a century.
const maxRetryAfter = 30 * 24 * time.Hour

// retryAfter is the wait that the headers ask for, 0 if none. A date is compared with
// the answer's own Date, if there is one: both are by the upstream's clock.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	d, _ := parseRetryAfter(h.Get("Retry-After"), now)
	return d
}

// parseRetryAfter reads seconds or an HTTP date (RFC 9110, 10.2.3), also as careless
// servers write them: fractions, a sign, a unit, quotes, spaces, other date forms,
// Unix time in seconds or finer units. The result is 0 to 30 days; what lies in the past
// is 0.
func parseRetryAfter(value string, now time.Time) (time.Duration, bool) {
	value = strings.Trim(value, " \t\"'")
	if n, ok := parseNumber(value); ok {
		return clampRetryAfter(secondsFrom(n, now)), true
	}
	for _, layout := range retryAfterLayouts {
		if at, err := time.Parse(layout, value); err == nil {
			return clampRetryAfter(at.Sub(now).Seconds()), true
		}
	}
	return 0, false
}

// retryAfterLayouts: the three forms of RFC 9110, 5.6.7, then forms seen in the wild.
// A zone name other than GMT and UTC has no known offset, so none is accepted.
var retryAfterLayouts = []string{
	http.TimeFormat,
	"Monday, 02-Jan-06 15:04:05 GMT",
	time.ANSIC,
	"Mon, _2 Jan 2006 15:04:05 GMT",
	"Mon, _2 Jan 2006 15:04:05 UTC",
	time.RFC1123Z,
	time.RFC3339,
}

// secondsFrom reads a number of seconds or, as nobody waits 31 years, a point in Unix
// time: in seconds from 1e9 (the year 2001) on, and in units a thousand times finer each
// where seconds would mean a year past 5000.
func secondsFrom(n float64, now time.Time) float64 {
	if n < 1e9 {
		return n
	}
	for n >= 1e11 && n < 1e20 {
		n /= 1000
	}
	return n - float64(now.UnixMilli())/1000
}

// parseNumber takes a plain decimal number; ParseFloat alone would also take
// hexadecimal, infinities and "nan".
func parseNumber(s string) (float64, bool) {
	for _, unit := range []string{"seconds", "sec", "s"} {
		if cut, ok := strings.CutSuffix(s, unit); ok {
			s = strings.TrimSpace(cut)
			break
		}
	}
	if s == "" || strings.Trim(s, "0123456789.+-") != "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && f == 0 { // out of range gives an infinity, which is clamped
		return 0, false
	}
	return f, true
}

func clampRetryAfter(seconds float64) time.Duration {
	if seconds <= 0 {
		return 0
	}
	if seconds >= maxRetryAfter.Seconds() {
		return maxRetryAfter
	}
	return time.Duration(seconds * float64(time.Second))
}
