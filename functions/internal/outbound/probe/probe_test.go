package probe_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"

	"sekisho/functions/internal/outbound/outboundtest"
	"sekisho/functions/internal/outbound/probe"
)

// upstream is httpbin; what it lacks is a Retry-After, which ?retry_after= adds.
func upstream() http.Handler {
	bin := httpbin.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := r.URL.Query().Get("retry_after"); s != "" {
			w.Header().Set("Retry-After", s)
		}
		bin.ServeHTTP(w, r)
	})
}

// run probes the path at an httpbin in virtual time.
func run(t *testing.T, path string, o probe.Options) (code int, stdout string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var network outboundtest.Network
		defer network.Serve("bin.test", upstream())()
		o.URL, o.Dial = "http://bin.test"+path, network.Dial
		var out, errs bytes.Buffer
		code = probe.Run(t.Context(), o, &out, &errs)
		stdout = out.String()
		if errs.Len() != 0 {
			t.Errorf("stderr: %s", &errs)
		}
	})
	return code, stdout
}

func options() probe.Options { return probe.Options{Timeout: 5 * time.Second, Attempts: 4} }

func TestDelayBeyondTheTimeout(t *testing.T) {
	code, out := run(t, "/delay/10", options())
	if code != probe.ExitFailed || strings.Count(out, "transient (timeout), 5000ms") != 4 {
		t.Errorf("exit %d:\n%s", code, out)
	}
	waits := regexp.MustCompile(`waiting (\d+)ms \(backoff, attempt (\d) of 4\)`).FindAllStringSubmatch(out, -1)
	if len(waits) != 3 {
		t.Fatalf("%d waits, want 3:\n%s", len(waits), out)
	}
	for i, base := range []int{500, 1000, 2000} {
		n, _ := strconv.Atoi(waits[i][1])
		if n < base || n > base*13/10 || waits[i][2] != strconv.Itoa(i+2) {
			t.Errorf("wait %d is %q, want %d to %d ms", i+1, waits[i][0], base, base*13/10)
		}
	}
	wantIn(t, out, `"classification": "transient"`, `"retryable": true`, "failed after 4 attempts in 2", "no attempts left")
	// The next call is not due sooner than this one took.
	if !regexp.MustCompile(`"retryAfterMs": 2[345]000,`).MatchString(out) {
		t.Errorf("want a wait of 23 to 25 s:\n%s", out)
	}
}

func TestRetryAfterIsShown(t *testing.T) {
	code, out := run(t, "/status/429?retry_after=1", options())
	if code != probe.ExitFailed || strings.Count(out, "waiting 1000ms (Retry-After)\n") != 3 {
		t.Errorf("exit %d:\n%s", code, out)
	}
	wantIn(t, out, "attempt 1 of 4: HTTP 429 Too Many Requests, transient (rate_limited)", "failed after 4 attempts in 3000ms, 3000ms of it waiting", `"retryAfterMs": 1000`)
}

func TestUnauthorizedIsTriedOnce(t *testing.T) {
	code, out := run(t, "/status/401", options())
	if code != probe.ExitFailed || strings.Count(out, "attempt ") != 2 { // the attempt's line and the total
		t.Errorf("exit %d:\n%s", code, out)
	}
	wantIn(t, out, "failed after 1 attempt in", `"error": "upstream_auth"`, `"retryable": false`, `"retryAfterMs": null`)
}

func TestSuccess(t *testing.T) {
	code, out := run(t, "/json", options())
	if code != probe.ExitOK {
		t.Errorf("exit %d:\n%s", code, out)
	}
	wantIn(t, out, "attempt 1 of 4: HTTP 200, success, 0ms", "succeeded after 1 attempt in 0ms, 0ms of it waiting\n", `"status": 200`, `"contentType": "application/json`)
}

func TestPostIsNotRepeatedUnlessIdempotent(t *testing.T) {
	o := options()
	o.Method = "post"
	_, out := run(t, "/status/502", o)
	wantIn(t, out, "failed after 1 attempt in", "may have happened", "upstream_outcome_unclear")
	o.Idempotent = true
	_, out = run(t, "/status/502", o)
	wantIn(t, out, "failed after 4 attempts in")
}

func TestAttemptsAreBounded(t *testing.T) {
	o := options()
	o.Attempts = 2
	_, out := run(t, "/status/503", o)
	wantIn(t, out, "attempt 2 of 2:", "failed after 2 attempts in")
}

func TestJSONLines(t *testing.T) {
	o := options()
	o.JSON = true
	code, out := run(t, "/status/429?retry_after=1", o)
	if code != probe.ExitFailed {
		t.Errorf("exit %d", code)
	}
	var events []string
	var last map[string]any
	scan := bufio.NewScanner(strings.NewReader(out))
	for scan.Scan() {
		last = nil
		if err := json.Unmarshal(scan.Bytes(), &last); err != nil {
			t.Fatalf("%v: %s", err, scan.Text())
		}
		events = append(events, last["event"].(string))
		if last["event"] == "attempt" && last["number"].(float64) < 4 && (last["waitMs"] != 1000.0 || last["waitReason"] != "Retry-After") {
			t.Errorf("line %s", scan.Text())
		}
	}
	if !slices.Equal(events, []string{"attempt", "attempt", "attempt", "attempt", "result"}) {
		t.Errorf("events %v", events)
	}
	if last["ok"] != false || last["attempts"] != 4.0 || last["waitedMs"] != 3000.0 || last["totalMs"] != 3000.0 {
		t.Errorf("result %v", last)
	}
	agent := last["agent"].(map[string]any)
	for _, member := range []string{"error", "classification", "retryable", "retryAfterMs", "hint"} {
		if _, ok := agent[member]; !ok {
			t.Errorf("%s is missing: %v", member, agent)
		}
	}
	code, out = run(t, "/get", o)
	if code != probe.ExitOK || !strings.Contains(out, `"event":"result","ok":true,"attempts":1`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// Each attempt is printed when it ends, not when the call does.
func TestLinesComeAsTheyHappen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network outboundtest.Network
		defer network.Serve("bin.test", upstream())()
		o := options()
		o.URL, o.Dial = "http://bin.test/status/429?retry_after=1", network.Dial
		w := &stamped{start: time.Now()}
		probe.Run(t.Context(), o, w, &bytes.Buffer{})
		var at []time.Duration
		for i, line := range w.lines {
			if strings.HasPrefix(line, "attempt ") {
				at = append(at, w.at[i])
			}
		}
		if !slices.Equal(at, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}) {
			t.Errorf("attempts were printed at %v", at)
		}
	})
}

type stamped struct {
	start time.Time
	lines []string
	at    []time.Duration
}

func (s *stamped) Write(p []byte) (int, error) {
	s.lines = append(s.lines, string(p))
	s.at = append(s.at, time.Since(s.start))
	return len(p), nil
}

func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network outboundtest.Network
		defer network.Serve("bin.test", upstream())()
		o := options()
		o.URL, o.Dial = "http://bin.test/status/503", network.Dial
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(100*time.Millisecond, cancel)
		var out bytes.Buffer
		code := probe.Run(ctx, o, &out, &bytes.Buffer{})
		if code != probe.ExitFailed {
			t.Errorf("exit %d", code)
		}
		wantIn(t, out.String(), "stopped: cancelled")
	})
}

func TestBadArguments(t *testing.T) {
	good := options()
	good.URL = "http://127.0.0.1:1/"
	for name, change := range map[string]func(*probe.Options){
		"no URL":            func(o *probe.Options) { o.URL = "" },
		"no scheme":         func(o *probe.Options) { o.URL = "example.com" },
		"wrong scheme":      func(o *probe.Options) { o.URL = "ftp://example.com" },
		"no timeout":        func(o *probe.Options) { o.Timeout = 0 },
		"negative timeout":  func(o *probe.Options) { o.Timeout = -1 },
		"no attempts":       func(o *probe.Options) { o.Attempts = 0 },
		"too many attempts": func(o *probe.Options) { o.Attempts = 5 },
		"bad method":        func(o *probe.Options) { o.Method = "GE T" },
	} {
		o := good
		change(&o)
		var out, errs bytes.Buffer
		if code := probe.Run(t.Context(), o, &out, &errs); code != probe.ExitUsage || out.Len() != 0 || !strings.HasPrefix(errs.String(), "probe: ") {
			t.Errorf("%s: exit %d, stdout %q, stderr %q", name, code, &out, &errs)
		}
	}
}

// A human may probe loopback, over a real socket, and redirects there too. No secret of
// the URL is printed, though httpbin repeats them all.
func TestLoopbackAndSecrets(t *testing.T) {
	srv := httptest.NewServer(upstream())
	defer srv.Close()
	base := strings.Replace(srv.URL, "http://", "http://user:pass-SECRET@", 1)
	for path, want := range map[string]int{
		"/get?access=query-SECRET":                      probe.ExitOK,
		"/redirect-to?url=/get&access=query-SECRET":     probe.ExitOK,
		"/status/404?access=query-SECRET":               probe.ExitFailed,
		"/redirect-to?url=ftp://x/&access=query-SECRET": probe.ExitFailed,
	} {
		for _, asJSON := range []bool{false, true} {
			o := options()
			o.URL, o.JSON = base+path, asJSON
			var out, errs bytes.Buffer
			if code := probe.Run(t.Context(), o, &out, &errs); code != want {
				t.Errorf("%s: exit %d, want %d: %s%s", path, code, want, &out, &errs)
			}
			for _, secret := range []string{"SECRET", "Authorization", "Basic", "access="} {
				if strings.Contains(out.String()+errs.String(), secret) {
					t.Errorf("%s: output holds %q:\n%s%s", path, secret, &out, &errs)
				}
			}
		}
	}
}

// Nothing is sent to an address that is neither public nor private, however it is written,
// and the person who asked reads why.
func TestRefusedAddresses(t *testing.T) {
	for _, host := range []string{"100.100.100.200", "100.64.0.1", "[::ffff:100.100.100.200]", "169.254.169.254", "[fd00:ec2::254]", "[fd00:ec2::254%251]", "192.0.0.192"} {
		o := options()
		o.URL = "http://" + host + "/"
		var out, errs bytes.Buffer
		if code := probe.Run(t.Context(), o, &out, &errs); code != probe.ExitFailed {
			t.Errorf("%s: exit %d", host, code)
		}
		wantIn(t, out.String(), "permanent (blocked_address)", "is refused", "upstream_misconfigured")
	}
}

// Whatever a write is answered with 2xx, it has succeeded; a read that says it is JSON has
// to be.
func TestOddAnswers(t *testing.T) {
	odd := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, r.URL.Query().Get("body"))
	})
	for _, tt := range []struct {
		method, body string
		exit         int
	}{
		{"POST", "", probe.ExitOK}, {"POST", "<html>", probe.ExitOK}, {"DELETE", "{", probe.ExitOK},
		{"GET", "", probe.ExitOK}, {"GET", "{}", probe.ExitOK}, {"GET", "{", probe.ExitFailed},
	} {
		synctest.Test(t, func(t *testing.T) {
			var network outboundtest.Network
			defer network.Serve("odd.test", odd)()
			o := options()
			o.URL, o.Method, o.Dial = "http://odd.test/?body="+url.QueryEscape(tt.body), tt.method, network.Dial
			var out bytes.Buffer
			if code := probe.Run(t.Context(), o, &out, &bytes.Buffer{}); code != tt.exit {
				t.Errorf("%s answered by %q: exit %d:\n%s", tt.method, tt.body, code, &out)
			}
		})
	}
}

func wantIn(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("output lacks %q:\n%s", p, out)
		}
	}
}
