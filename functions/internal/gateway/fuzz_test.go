package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// FuzzSecondFormat: a request has one meaning, whether it comes in payload format 1.0 or 2.0, and no
// client can make one key of two, or two of one, by choosing the door.
func FuzzSecondFormat(f *testing.F) {
	f.Add("POST", "/mcp", "a=1&b=%20", "k", "Bearer k", "{}", "s=1")
	f.Add("GET", "/%E6%9D%B1", "a=%zz&a", "a,b", "Bearer a,Bearer b", "", "")
	f.Fuzz(func(t *testing.T, method, path, query, key, authorization, body, cookie string) {
		second := map[string]any{
			"version": "2.0", "rawPath": path, "rawQueryString": query, "body": body,
			"headers":        map[string]string{"x-api-key": key, "authorization": authorization, "x-other": key},
			"requestContext": map[string]any{"http": map[string]any{"method": method, "path": path, "sourceIp": "192.0.2.1"}},
		}
		if cookie != "" {
			second["cookies"] = []string{cookie}
		}
		first := events.APIGatewayProxyRequest{
			HTTPMethod: method, Path: path, Body: body,
			MultiValueHeaders: http.Header{"X-Api-Key": strings.Split(key, ","), "Authorization": strings.Split(authorization, ","), "X-Other": {key}},
		}
		a, b := seenOf(t, second), seenOf(t, first)
		if a.method != b.method || a.path != b.path || a.body != b.body {
			t.Errorf("format 2.0 gives %+v, 1.0 %+v", a, b)
		}
		for _, name := range []string{"X-Api-Key", "Authorization", "X-Other"} {
			if got, want := strings.Join(a.header[name], "\x00"), strings.Join(b.header[name], "\x00"); got != want {
				t.Errorf("%s: format 2.0 gives %q, 1.0 %q", name, got, want)
			}
		}
		if a.remote != "192.0.2.1" {
			t.Errorf("the call comes from %q", a.remote)
		}
	})
}

// seen is what a handler finds in a request.
type seen struct {
	method, path, body, remote string
	header                     http.Header
}

func seenOf(t *testing.T, event any) (s seen) {
	t.Helper()
	h := gateway.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s = seen{r.Method, r.URL.EscapedPath(), string(body), r.RemoteAddr, r.Header}
	}), nil)
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Invoke(t.Context(), payload); err != nil {
		t.Fatalf("%s: %v", payload, err)
	}
	return s
}

// FuzzLogLine: a line is of one kind at most. One of an admission gives back nothing that no admission
// took, and what an invocation wrote is looked for in a bounded time.
func FuzzLogLine(f *testing.F) {
	api, err := contract.Default()
	if err != nil {
		f.Fatal(err)
	}
	at := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	report, _ := json.Marshal(gateway.NewReport(at, "i1", "timeout"))
	f.Add(string(report))
	f.Add(strings.Replace(string(report), `"durationMs":0`, `"durationMs":1e300`, 1))
	f.Add(`{"invocation":"i1","gate":"admission_id=` + usage.NewAdmissionID(at) + ` operation=postal.lookup key_id=key_a refund_cap=100"}`)
	f.Add(`{"gate":"crossed=pct:80:8:10 admission_id=adm_ key_id=key_a units=-1"}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, line string) {
		r, isReport := gateway.ParseReport([]byte(line))
		if from, to := r.Window(); isReport && (!from.Before(to) || to.Sub(from) > 17*time.Minute) {
			t.Errorf("%s: lines are looked for from %s to %s", line, from, to)
		}
		d, ok := gateway.ParseDispatched([]byte(line))
		if !ok {
			return
		}
		text, err := d.Admission.MarshalText()
		again := gateway.Admission{}
		if err != nil || again.UnmarshalText(text) != nil {
			t.Errorf("%s becomes %s, which can't be read: %v", line, text, err)
		}
		if d.Admission.Crossed == "" {
			d.Admission.UserID, d.Admission.Plan = "", ""
		}
		if again != d.Admission {
			t.Errorf("%s says %+v, and as %s %+v", line, d.Admission, text, again)
		}
		refund, due, err := d.Failed().Refund(api.CodeOf)
		switch {
		case err != nil || !due:
			return
		case len(refund.Calls) != 1 || refund.Check() != nil || refund.Cap < usage.Unlimited || !strings.HasPrefix(refund.Meter, "key_"):
			t.Errorf("%s gives a refund that can't be: %+v", line, refund)
		case refund.Calls[0].Unstarted != (d.ResponseType == gateway.NotStartedType):
			t.Errorf("%s: the cap counts %+v", line, refund.Calls[0])
		}
		if made, ok := usage.AdmissionTime(d.Admission.AdmissionID); !ok || usage.PeriodOf(made) != refund.Period || strconv.FormatInt(refund.Calls[0].Units, 10) != strings.TrimLeft(d.Admission.Units, "+0") {
			t.Errorf("%s gives back %+v", line, refund)
		}
	})
}

// FuzzSameOrigin: only the API's own page is of its origin.
func FuzzSameOrigin(f *testing.F) {
	for _, domain := range []string{"abc.example", "127.0.0.1:8080", "0.0.0.0:80", "[::1]:1"} {
		for _, origin := range []string{"https://abc.example", "http://localhost:8080", "https://abc.example.evil.example", "https://abc.example@evil.example", "null", "https://ABC.example:443"} {
			f.Add(domain, origin)
		}
	}
	loopback := []string{"localhost", "127.", "[::1]", "[0", "[::ffff:127."}
	f.Fuzz(func(t *testing.T, domain, origin string) {
		event := events.APIGatewayProxyRequest{}
		event.RequestContext.DomainName = domain
		if !gateway.SameOrigin(&event, origin) || strings.EqualFold(origin, "https://"+domain) {
			return
		}
		_, host, _ := strings.Cut(strings.ToLower(origin), "://")
		for _, name := range loopback {
			if strings.HasPrefix(host, name) && !strings.ContainsAny(host, "/@?#") {
				return
			}
		}
		t.Errorf("%q is taken for the origin of %q", origin, domain)
	})
}
