package authorizer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

const secret = "sekisho_secret"

type keys struct {
	key account.Key
	err error
}

func (k keys) Authenticate(_ context.Context, text, _ string) (account.Key, error) {
	if text != secret {
		return account.Key{}, account.ErrNotFound
	}
	return k.key, k.err
}

type gate struct {
	grant usage.Grant
	err   error
	asked []string
}

func (g *gate) Admit(_ context.Context, meter, operation string, units int64, limits usage.Limits) (usage.Grant, error) {
	g.asked = append(g.asked, meter+" "+operation)
	g.grant.Units, g.grant.Limits = units, limits
	return g.grant, g.err
}

var now = time.Date(2026, 11, 30, 23, 59, 58, 500e6, time.UTC)

func setUp(t *testing.T) (*Handler, *gate, *bytes.Buffer) {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{grant: usage.Grant{
		Decision: usage.Decision{Admitted: true, State: usage.State{Used: 7, Today: 7}}, AdmissionID: usage.NewAdmissionID(now), At: now,
	}}
	var logged bytes.Buffer
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(&logged), zap.DebugLevel)
	clock := func() time.Time { return now }
	return &Handler{
		API: api, Log: zap.New(core), Now: clock,
		Keys: keys{key: account.Key{ID: "key_a", Meter: "key_m", UserID: "u", Plan: "free"}},
		Gate: &admission.Gate{
			Meter: g, Plans: account.Plans{"free": usage.PerMonth(1000)}, Now: clock, UpgradeURL: "https://example.com/plans",
		},
	}, g, &logged
}

func event() request {
	e := request{
		MethodArn: "arn:aws:execute-api:eu-west-1:1:api/prod/GET/v1/postal/1000001",
		Resource:  "/v1/postal/{postal_code}", HTTPMethod: "GET",
		Headers: map[string]string{"X-Api-Key": secret},
	}
	return e
}

func TestAllow(t *testing.T) {
	h, g, _ := setUp(t)
	out, err := h.Handle(t.Context(), event())
	if err != nil {
		t.Fatal(err)
	}
	s := out.PolicyDocument.Statement[0]
	if s.Effect != "Allow" || s.Resource[0] != event().MethodArn || out.PrincipalID != "key_a" {
		t.Errorf("policy %+v for %s", s, out.PrincipalID)
	}
	want := map[string]string{
		"key_id": "key_a", "meter": "key_m", "user_id": "u", "plan": "free", "operation": "postal.lookup",
		"period": "2026-11", "units": "1", "refund_cap": "100", "admission_id": g.grant.AdmissionID,
		"gate":      "admission_id=" + g.grant.AdmissionID + " operation=postal.lookup key_id=key_a meter=key_m refund_cap=100",
		"ratelimit": `"monthly";r=993;t=2`, "ratelimit_policy": `"monthly";q=1000;w=2592000`,
	}
	for name, value := range want {
		if out.Context[name] != value {
			t.Errorf("context %s = %v, want %s", name, out.Context[name], value)
		}
	}
	if len(out.Context) != len(want) {
		t.Errorf("context has %d values, want %d: %v", len(out.Context), len(want), out.Context)
	}
	if len(g.asked) != 1 || g.asked[0] != "key_m "+h.API.Operation("postal.lookup").Code {
		t.Errorf("the gate was asked %v", g.asked)
	}
}

// TestSharedResource: operations that share a path are told apart by method and path, and each is
// charged and refused as itself. What is no operation is let through uncounted and without a look
// at the key, for the function to answer 404.
func TestSharedResource(t *testing.T) {
	h, g, _ := setUp(t)
	var err error
	h.API, err = contract.Parse([]byte(`{"security":[{"key":[]}],"paths":{
		"/o/{id}":{"get":{"operationId":"o.get","x-sekisho":{"function":"f","units":1,"code":"aa","resource":"/o/{proxy+}"}}},
		"/o/{id}:pay":{"post":{"operationId":"o.pay","x-sekisho":{"function":"f","units":5,"code":"bb","resource":"/o/{proxy+}"}}},
		"/o/{id}/free":{"get":{"operationId":"o.free","x-sekisho":{"function":"f","units":0,"resource":"/o/{proxy+}"}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]struct {
		operation, units string
		gate             []string
	}{
		"GET 7":      {"o.get", "1", []string{"key_m aa"}},
		"POST 7:pay": {"o.pay", "5", []string{"key_m bb"}},
		"GET 7/free": {"o.free", "", nil},
		"POST 7":     {}, "GET 7/other": {}, "GET 7:pay/x": {},
	} {
		g.asked = nil
		method, path, _ := strings.Cut(asked, " ")
		e := event()
		e.HTTPMethod, e.Resource, e.PathParameters = method, "/o/{proxy+}", map[string]string{"proxy": path}
		if want.operation == "" {
			e.Headers = nil
		}
		out, err := h.Handle(t.Context(), e)
		if err != nil {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		operation, _ := out.Context["operation"].(string)
		units, _ := out.Context["units"].(string)
		if operation != want.operation || units != want.units || !slices.Equal(g.asked, want.gate) || out.PolicyDocument.Statement[0].Effect != "Allow" {
			t.Errorf("%s: %s with %s units, the gate was asked %v, %+v; want %+v", asked, operation, units, g.asked, out.PolicyDocument, want)
		}
	}
	e := event()
	e.Resource, e.PathParameters, e.Headers = "/o/{proxy+}", map[string]string{"proxy": "7"}, nil
	if _, err := h.Handle(t.Context(), e); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("an operation without a key: %v", err)
	}
}

// TestContextNeedsNoEscaping holds what gateway responses and the access log rely on: they substitute
// values into JSON as they are. Two values go into headers alone, whose syntax has quotes.
func TestContextNeedsNoEscaping(t *testing.T) {
	h, g, _ := setUp(t)
	plain := regexp.MustCompile(`^[A-Za-z0-9_.,;():/@= -]*$`)
	for _, admitted := range []bool{true, false} {
		g.grant.Admitted = admitted
		out, err := h.Handle(t.Context(), event())
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range out.Context {
			text, ok := value.(string)
			if strings.HasPrefix(name, "ratelimit") {
				continue
			}
			if !ok || !plain.MatchString(text) {
				t.Errorf("context %s = %#v is no plain text", name, value)
			}
		}
	}
}

func TestDenyTellsWhatTheAgentNeeds(t *testing.T) {
	h, g, _ := setUp(t)
	g.grant.Decision = usage.Decision{Refused: usage.Monthly, Wait: usage.PeriodOf(now).Reset().Sub(now), State: usage.State{Used: 1000}}
	out, err := h.Handle(t.Context(), event())
	if err != nil {
		t.Fatal(err)
	}
	if out.PolicyDocument.Statement[0].Effect != "Deny" {
		t.Fatalf("policy %+v", out.PolicyDocument)
	}
	for name, want := range map[string]string{
		"denial": "limit_exceeded", "limit": "1000", "used": "1000", "limit_period": "monthly", "reset_at": "2026-12-01T00:00:00.000Z",
		"retry_after": "2", "retry_after_ms": "2000", "upgrade_url": "https://example.com/plans",
	} {
		if out.Context[name] != want {
			t.Errorf("context %s = %v, want %s", name, out.Context[name], want)
		}
	}
	if _, ok := out.Context["admission_id"]; ok {
		t.Error("a denied call has an admission to refund")
	}
}

// TestDenials: each limit has its code, its figures and its wait; a busy store is no limit.
func TestDenials(t *testing.T) {
	limits := usage.Limits{Monthly: 1000, Daily: 20, Rate: ratelimit.Limit{PerSecond: 2, Burst: 5}}
	midnight := usage.DayOf(now).Reset().Sub(now)
	for _, c := range []struct {
		refused usage.Window
		wait    time.Duration
		want    map[string]any
	}{
		{usage.Daily, midnight, map[string]any{
			"denial": "limit_exceeded", "denial_retryable": "false", "limit": "20", "used": "20", "limit_period": "daily",
			"reset_at": "2026-12-01T00:00:00.000Z", "retry_after": "2", "retry_after_ms": "2000",
			"ratelimit": `"monthly";r=900;t=2, "daily";r=0;t=2, "rate";r=0;t=3`,
		}},
		{usage.PerSecond, 300 * time.Millisecond, map[string]any{
			"denial": "rate_limited", "denial_retryable": "true", "denial_classification": "transient", "limit": "5", "used": "5",
			"limit_period": "rate", "reset_at": "2026-11-30T23:59:58.800Z", "retry_after": "1", "retry_after_ms": "1000",
		}},
		{usage.Busy, time.Second, map[string]any{
			"denial": "throttled", "denial_retryable": "true", "limit": "null", "used": "null", "limit_period": "", "reset_at": "",
			"retry_after": "1", "ratelimit": nil,
		}},
	} {
		h, g, _ := setUp(t)
		h.Gate.Plans = account.Plans{"free": limits}
		g.grant.Decision = usage.Decision{Refused: c.refused, Wait: c.wait, State: usage.State{Used: 100, Today: 20, TAT: now.Add(2500 * time.Millisecond).UnixNano()}}
		out, err := h.Handle(t.Context(), event())
		if err != nil || out.PolicyDocument.Statement[0].Effect != "Deny" {
			t.Errorf("%s: %+v, %v", c.refused, out.PolicyDocument, err)
		}
		for name, want := range c.want {
			if out.Context[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.refused, name, out.Context[name], want)
			}
		}
	}
}

// TestACrossedThresholdIsNoted for settle, which tells of it.
func TestACrossedThresholdIsNoted(t *testing.T) {
	h, g, _ := setUp(t)
	h.Gate.TellAt = []int{1, 80}
	for used, want := range map[int64]any{9: nil, 10: "pct:1:10:1000", 799: nil, 800: "pct:80:800:1000", 801: nil} {
		g.grant.Decision = usage.Decision{Admitted: true, State: usage.State{Used: used}}
		if out, err := h.Handle(t.Context(), event()); err != nil || out.Context["crossed"] != want {
			t.Errorf("%d used: %v, %v; want %v", used, out.Context["crossed"], err, want)
		}
	}
}

func TestExemptTakesNothing(t *testing.T) {
	h, g, _ := setUp(t)
	usageEvent := event()
	usageEvent.Resource = "/v1/user/usage"
	out, err := h.Handle(t.Context(), usageEvent)
	if err != nil || out.PolicyDocument.Statement[0].Effect != "Allow" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, ok := out.Context["admission_id"]; ok || len(g.asked) != 0 {
		t.Errorf("an exempt call has an admission; the gate was asked %v", g.asked)
	}
}

// TestFreeCallsAreBounded: whoever pays nothing for a call gets some, with a wait that is true,
// and holds up neither other keys nor its own calls that count.
func TestFreeCallsAreBounded(t *testing.T) {
	h, g, _ := setUp(t)
	h.Gate.Free = ratelimit.NewBudget(ratelimit.Limit{Burst: 2, PerSecond: 0.5})
	free := event()
	free.Resource = "/v1/user/usage"
	for call, effect := range []string{"Allow", "Allow", "Deny"} {
		out, err := h.Handle(t.Context(), free)
		if err != nil || out.PolicyDocument.Statement[0].Effect != effect {
			t.Fatalf("call %d: %+v, %v; want %s", call+1, out, err, effect)
		}
		if effect == "Allow" {
			continue
		}
		for name, want := range map[string]any{"denial": "throttled", "retry_after": "2", "retry_after_ms": "2000", "period": nil} {
			if out.Context[name] != want {
				t.Errorf("context %s = %v, want %v", name, out.Context[name], want)
			}
		}
	}
	if out, err := h.Handle(t.Context(), event()); err != nil || out.PolicyDocument.Statement[0].Effect != "Allow" || len(g.asked) != 1 {
		t.Errorf("a call that counts: %+v, %v", out, err)
	}
	h.Keys = keys{key: account.Key{ID: "key_b", Meter: "key_b", Plan: "free"}}
	if out, err := h.Handle(t.Context(), free); err != nil || out.PolicyDocument.Statement[0].Effect != "Allow" {
		t.Errorf("another key: %+v, %v", out, err)
	}
}

func TestTooManyUnknownKeys(t *testing.T) {
	h, g, _ := setUp(t)
	h.Keys = keys{err: &account.ThrottledError{Wait: 1500 * time.Millisecond}}
	out, err := h.Handle(t.Context(), event())
	if err != nil || out.PolicyDocument.Statement[0].Effect != "Deny" || out.PrincipalID == "" {
		t.Fatalf("%+v, %v", out, err)
	}
	if out.Context["denial"] != "throttled" || out.Context["retry_after"] != "2" || out.Context["operation"] != "postal.lookup" || len(g.asked) != 0 {
		t.Errorf("context %v; the gate was asked %v", out.Context, g.asked)
	}
}

// TestBrakedCallsAreCounted: the brake may spare functions, and what is not counted is free.
func TestBrakedCallsAreCounted(t *testing.T) {
	h, g, _ := setUp(t)
	braked := event()
	braked.StageVariables = map[string]string{"unavailable_error": "braked"}
	if out, err := h.Handle(t.Context(), braked); err != nil || out.Context["admission_id"] == nil || len(g.asked) != 1 {
		t.Errorf("%+v, %v; the gate was asked %v", out, err, g.asked)
	}
}

// TestLogLine: what operators see of a decision. The ID of a request is in it only if no client could
// have chosen it.
func TestLogLine(t *testing.T) {
	const id = "6e1f3c0a-1111-4222-8333-0123456789ab"
	for name, c := range map[string]struct {
		change func(*Handler, *request)
		want   map[string]any
	}{
		"allowed":   {func(*Handler, *request) {}, map[string]any{"level": "debug", "verdict": "allowed", "operation": "postal.lookup", "key_id": "key_a", "request_id": id}},
		"no key":    {func(_ *Handler, e *request) { e.Headers = nil }, map[string]any{"level": "info", "verdict": "no_key", "operation": "postal.lookup", "key_id": "", "request_id": id}},
		"wrong key": {func(_ *Handler, e *request) { e.Headers["X-Api-Key"] = "other" }, map[string]any{"level": "info", "verdict": "not_found", "key_id": ""}},
		"revoked": {func(h *Handler, _ *request) {
			h.Keys = keys{key: account.Key{ID: "key_a"}, err: account.ErrInactive}
		}, map[string]any{"level": "info", "verdict": "inactive", "key_id": "key_a"}},
		"store down":   {func(h *Handler, _ *request) { h.Keys = keys{err: errors.New("down")} }, map[string]any{"level": "error", "verdict": "undecided", "error": "down"}},
		"digits as ID": {func(_ *Handler, e *request) { e.RequestContext.RequestID = strings.Repeat("0", len(id)) }, map[string]any{"request_id": ""}},
		"a longer ID":  {func(_ *Handler, e *request) { e.RequestContext.RequestID = id + "0" }, map[string]any{"request_id": ""}},
		"a key as ID":  {func(_ *Handler, e *request) { e.RequestContext.RequestID = secret }, map[string]any{"verdict": "allowed", "request_id": ""}},
	} {
		h, _, logged := setUp(t)
		e := event()
		e.RequestContext.RequestID = id
		c.change(h, &e)
		_, _ = h.Handle(t.Context(), e)
		var line map[string]any
		if err := json.Unmarshal(logged.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v in %s", name, err, logged)
		}
		for field, want := range c.want {
			if line[field] != want {
				t.Errorf("%s: %s is %v, want %v", name, field, line[field], want)
			}
		}
	}
}

func TestUnauthorized(t *testing.T) {
	for name, change := range map[string]func(*Handler, *request){
		"no key":      func(_ *Handler, e *request) { e.Headers = nil },
		"wrong key":   func(_ *Handler, e *request) { e.Headers["X-Api-Key"] = "other" },
		"two keys":    func(_ *Handler, e *request) { e.Headers["Authorization"] = "Bearer other" },
		"in a cookie": func(_ *Handler, e *request) { e.Headers = map[string]string{"Cookie": secret} },
		"revoked":     func(h *Handler, _ *request) { h.Keys = keys{err: account.ErrInactive} },
	} {
		h, g, logged := setUp(t)
		e := event()
		change(h, &e)
		_, err := h.Handle(t.Context(), e)
		if err == nil || err.Error() != "Unauthorized" {
			t.Errorf("%s: %v, want exactly Unauthorized", name, err)
		}
		if len(g.asked) != 0 {
			t.Errorf("%s: units were asked for", name)
		}
		if strings.Contains(logged.String(), secret) {
			t.Errorf("%s: the log holds the key: %s", name, logged)
		}
	}
}

// TestHeadersWhateverTheirCase is aws/aws-sdk-js#2719.
func TestHeadersWhateverTheirCase(t *testing.T) {
	for _, headers := range []map[string]string{
		{"x-api-key": secret}, {"X-API-KEY": secret}, {"authorization": "Bearer " + secret},
		{"AUTHORIZATION": "bearer " + secret},
	} {
		h, _, _ := setUp(t)
		e := event()
		e.Headers = headers
		if _, err := h.Handle(t.Context(), e); err != nil {
			t.Errorf("%v: %v", headers, err)
		}
		multi := map[string][]string{}
		for name, value := range headers {
			multi[name] = []string{value}
		}
		e.Headers, e.MultiValueHeaders = nil, multi
		if _, err := h.Handle(t.Context(), e); err != nil {
			t.Errorf("multi-value %v: %v", headers, err)
		}
	}
}

// TestFromEnv: the function does not start with a variable that it can't read, nor without a store.
func TestFromEnv(t *testing.T) {
	good := map[string]string{
		boot.Plans: `{"free":{"monthly":7}}`, boot.UpgradeURL: "https://example.com/plans",
		boot.KeyCacheSeconds: "60", boot.DenialMemorySeconds: "5",
	}
	open := func(boot.Env, ...string) (store.Store, error) { return &sqlite.DB{}, nil }
	start := func(env map[string]string, open store.Open) error {
		f, err := FromEnv(open)(boot.Runtime{Function: "authorizer", Env: boot.Map(env), Log: zap.NewNop(), Now: time.Now})
		if (f == nil) != (err != nil) {
			t.Errorf("function %v comes with %v", f, err)
		}
		return err
	}
	if err := start(good, open); err != nil {
		t.Fatal(err)
	}
	for variable, bad := range map[string]string{
		contract.FileVariable: filepath.Join(t.TempDir(), "none.json"),
		boot.Plans:            `{"free":{"monthly":-1}}`, boot.UpgradeURL: "example.com",
		boot.KeyCacheSeconds: "soon", boot.DenialMemorySeconds: "-1", boot.UsagePercent: "-1",
	} {
		env := maps.Clone(good)
		env[variable] = bad
		if err := start(env, open); err == nil || !strings.Contains(err.Error(), variable) && !strings.Contains(err.Error(), bad) {
			t.Errorf("%s=%s: %v; want an error that names either", variable, bad, err)
		}
	}
	down := errors.New("no such table")
	if err := start(good, func(boot.Env, ...string) (store.Store, error) { return nil, down }); !errors.Is(err, down) {
		t.Errorf("without a store: %v", err)
	}
}

// TestSettingsAreReadFromTheirOwnVariables: each once, so none gives its value to two settings.
func TestSettingsAreReadFromTheirOwnVariables(t *testing.T) {
	read := map[string]int{}
	env := boot.Env(func(name string) string { read[name]++; return "" })
	open := func(_ boot.Env, tables ...string) (store.Store, error) {
		for _, table := range tables {
			read[table]++
		}
		return &sqlite.DB{}, nil
	}
	if _, err := FromEnv(open)(boot.Runtime{Function: "authorizer", Env: env, Log: zap.NewNop(), Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{
		boot.AccountsTable: 1, boot.UsageTable: 1, boot.Plans: 1, boot.UpgradeURL: 1, boot.KeyCacheSeconds: 1, boot.DenialMemorySeconds: 1, boot.UsagePercent: 1,
	}
	for _, variable := range []string{contract.FileVariable, "LAMBDA_TASK_ROOT"} { // no settings: whoever asks for the contract reads them
		delete(read, variable)
	}
	if !maps.Equal(read, want) {
		t.Errorf("read %v, want %v", read, want)
	}
}

func TestFailsClosed(t *testing.T) {
	down := errors.New("dial tcp 10.0.0.1: refused")
	for name, change := range map[string]func(*Handler, *gate, *request){
		"the store of keys":  func(h *Handler, _ *gate, _ *request) { h.Keys = keys{err: down} },
		"the store of usage": func(_ *Handler, g *gate, _ *request) { g.err = down },
		"a plan that is gone": func(h *Handler, _ *gate, _ *request) {
			h.Keys = keys{key: account.Key{ID: "key_a", Plan: "gold"}}
		},
		"a route that is none": func(_ *Handler, _ *gate, e *request) { e.Resource = "/v2" },
	} {
		h, g, logged := setUp(t)
		e := event()
		change(h, g, &e)
		_, err := h.Handle(t.Context(), e)
		if err == nil || errors.Is(err, ErrUnauthorized) {
			t.Errorf("%s: %v; want an error that becomes 503", name, err)
			continue
		}
		if strings.Contains(err.Error(), "10.0.0.1") {
			t.Errorf("%s: internals go to the gateway: %v", name, err)
		}
		var line map[string]any
		if json.Unmarshal(logged.Bytes(), &line) != nil || line["level"] != "error" || line["error"] == nil {
			t.Errorf("%s: the reason is not in the log: %s", name, logged)
		}
	}
}

// FuzzEvent: whatever API Gateway hands over, nobody passes without the key, and every answer is one
// of the three that API Gateway knows.
func FuzzEvent(f *testing.F) {
	for _, resource := range []string{"/v1/postal/{postal_code}", "/v1/user/usage", "/mcp", "/v2", ""} {
		for _, key := range []string{secret, "Bearer " + secret, ""} {
			raw, err := json.Marshal(request{HTTPMethod: "GET", Resource: resource, Headers: map[string]string{"X-Api-Key": key}, MethodArn: "arn"})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(raw))
		}
	}
	f.Add(`{"httpMethod":"POST","resource":"/v1/external/publications","multiValueHeaders":{"x-api-key":null,"AUTHORIZATION":["bearer sekisho_secret",""]}}`)
	f.Fuzz(func(t *testing.T, payload string) {
		var e request
		if json.Unmarshal([]byte(payload), &e) != nil {
			t.Skip()
		}
		h, g, logged := setUp(t)
		out, err := h.Handle(t.Context(), e)
		switch {
		case err != nil && err.Error() != "Unauthorized" && err != errUndecided:
			t.Errorf("%s: %v", payload, err)
		case err == nil && (len(out.PolicyDocument.Statement) != 1 || out.PrincipalID == ""):
			t.Errorf("%s: %+v", payload, out)
		}
		sent := false
		for _, headers := range []map[string][]string{e.MultiValueHeaders, single(e.Headers)} {
			for _, values := range headers {
				sent = sent || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, secret) })
			}
		}
		if !sent && (err == nil || len(g.asked) != 0) {
			t.Errorf("%s passes without a key: %+v, the gate was asked %v", payload, out.PolicyDocument, g.asked)
		}
		if strings.Contains(logged.String(), secret) && !strings.Contains(e.Resource+e.HTTPMethod, secret) {
			t.Errorf("the log holds the key: %s", logged)
		}
	})
}

func single(headers map[string]string) map[string][]string {
	all := map[string][]string{}
	for name, value := range headers {
		all[name] = []string{value}
	}
	return all
}
