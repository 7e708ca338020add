package laptop_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	awsbrake "sekisho/functions/internal/aws/brake"
	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/aws/dispatchlog"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/function"
	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/aws/topic"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	handler "sekisho/functions/internal/handler/brake"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/handler/settle"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/awsfake/tables"
)

// recordedCalls is what each function calls in AWS, by how it is deployed. tests/terraform compares it
// with the rights that the functions are given.
var recordedCalls = filepath.Join("testdata", "calls.json")

// TestAWSCalls runs every function over AWS's own protocols, through whatever makes it call AWS, and
// compares the calls with the recorded ones. Other tests say what callers are answered.
func TestAWSCalls(t *testing.T) {
	server, err := moto.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	got := map[string]map[string][]string{}
	for name, run := range map[string]func(*testing.T, *awsCalls){
		"proxy": runProxy, "direct": runDirect, "oauth": runOAuth, "issuer": runIssuer, "backend": runBackend, "rated backend": runRatedBackend,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := http.Post(server.Endpoint+"/moto-api/reset", "", nil); err != nil {
				t.Fatal(err)
			}
			a := recordAWS(t, server.Endpoint)
			cfg, err := awsconfig.Config(boot.Map(a.env(operator)))
			if err != nil {
				t.Fatal(err)
			}
			cfg.BaseEndpoint = &server.Endpoint
			if err := tables.Create(t.Context(), dynamodb.NewFromConfig(cfg), a.env("")[boot.AccountsTable], a.env("")[boot.UsageTable]); err != nil {
				t.Fatal(err)
			}
			run(t, a)
			a.set(func() { got[name] = a.calls })
		})
	}
	if t.Failed() {
		return
	}
	if *update {
		text, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(recordedCalls, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(recordedCalls)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string][]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for name := range want {
		for function := range merge(got[name], want[name]) {
			if !reflect.DeepEqual(got[name][function], want[name][function]) {
				t.Errorf("%s: %s calls %q, and %s has %q. If that is meant: go test -run TestAWSCalls -update, and change its rights", name, function, got[name][function], recordedCalls, want[name][function])
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d ways to deploy, want %d", recordedCalls, len(want), len(got))
	}
}

// merge makes one map of several; the later ones win.
func merge[V any](all ...map[string]V) map[string]V {
	one := map[string]V{}
	for _, m := range all {
		maps.Copy(one, m)
	}
	return one
}

// meteredPlans are one whose thresholds and limit a test reaches soon, and one that admits nothing.
var meteredPlans = account.Plans{
	"metered": {Monthly: 10, Daily: 100, Rate: ratelimit.Limit{PerSecond: 10, Burst: 50}},
	"none":    usage.PerMonth(0),
}

// overAWS has the functions of a service call AWS as in AWS. mcp dispatches to the laptop's functions,
// unless it invokes them.
func (a *awsCalls) overAWS(c *laptop.Config, clock *clock) {
	for name, f := range c.Functions {
		f.Env = merge(f.Env, a.env(name), map[string]string{
			boot.UsagePercent: "80,100", boot.UsageTopicARN: "arn:aws:sns:us-east-1:123456789012:sekisho-dev-usage",
		})
		if f.Env[boot.Dispatch] == boot.Direct {
			f.Env[boot.DispatchLogGroup] = "/aws/lambda/sekisho-dev-mcp"
			f.Env[boot.BrakeParameter] = "/sekisho/sekisho-dev/brake"
			f.Env[boot.Functions] = a.deployed(f.Env[boot.Functions])
		}
		f.Stores = a.stores(name)
		c.Functions[name] = f
	}
	c.Now = clock.now
	c.Relay = relay.Options{Secret: parameter.FromEnv, Invoker: function.FromEnv}
	replace(c, laptop.Settle, a.build(c, laptop.Settle, settle.FromEnv(dynamo.FromEnv, settle.Platform{
		Topic:      func(env boot.Env, name string) (settle.Publisher, error) { return topic.FromEnv(env, name) },
		Admissions: func(env boot.Env, name string) (settle.Admissions, error) { return admissions(env, name) },
	})))
	if mcp := c.Functions[laptop.MCP]; mcp.Env[boot.Dispatch] == boot.Direct {
		replace(c, laptop.MCP, a.build(c, laptop.MCP, mcpserver.FromEnv(dynamo.Connected, mcpserver.Platform{Functions: invokers, Braked: readsBrake})))
	}
}

// deployed are the names in AWS of the functions that mcp invokes.
func (a *awsCalls) deployed(functions string) string {
	names, err := boot.Map(map[string]string{boot.Functions: functions}).Names(boot.Functions)
	if err != nil {
		a.t.Fatal(err)
	}
	for own := range names {
		names[own] = "sekisho-dev-" + own + ":live"
	}
	text, _ := json.Marshal(names)
	return string(text)
}

// stores are the two tables, as a function sees them.
func (a *awsCalls) stores(function string) store.Store {
	s, err := dynamo.FromEnv(boot.Map(a.env(function)))
	if err != nil {
		a.t.Fatal(err)
	}
	return s
}

// build makes a function as its main does.
func (a *awsCalls) build(c *laptop.Config, name string, b boot.Build) lambda.Invoker {
	invoker, err := b(boot.Runtime{Function: name, Env: boot.Map(c.Functions[name].Env), Log: zap.NewNop(), Now: c.Now})
	if err != nil {
		a.t.Fatal(err)
	}
	return invoker
}

func admissions(env boot.Env, variable string) (settle.Admissions, error) {
	log, err := dispatchlog.FromEnv(env, variable)
	if log == nil {
		return nil, err
	}
	return log, err
}

func invokers(env boot.Env, names map[string]string) (map[string]backend.Invoker, error) {
	cfg, err := awsconfig.Config(env)
	if err != nil {
		return nil, err
	}
	return function.All(cfg, names), nil
}

func readsBrake(env boot.Env) (func(context.Context) (bool, error), error) {
	read, err := parameter.FromEnv(env, backend.Place{Parameter: env(boot.BrakeParameter)})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (bool, error) {
		state, err := read(ctx)
		return state == brake.StateName(true), err
	}, nil
}

// inAWS points the test's own store at the tables, too, and invocations at the service.
func (a *awsCalls) inAWS(s *service) {
	a.set(func() { a.invoke = s.Functions.Invoke })
	s.stores = a.stores(operator)
	s.ring.Store = s.stores.Accounts()
}

// drive makes calls of every kind: at the REST API, by MCP, to everything that key holders have, and to a
// backend with limits.
func (a *awsCalls) drive(s *service, c *clock) {
	s.t.Helper()
	secret, key := s.newKey("metered")
	for i := range 14 {
		s.call("GET", "/v1/postal/"+[]string{"1000001", "0000000"}[i%2], secret.Reveal(), "")
		s.lookUp(secret.Reveal())
		s.mcpCall(secret.Reveal(), "postal_lookup", `{"postal_code":"0000000"}`)
		c.set(c.now().Add(time.Second).Format(time.RFC3339Nano))
	}
	if counts := s.used(key, thisMonthOf(c)); counts.Used != 10 || counts.Denied == 0 || counts.Refunded == 0 {
		s.t.Errorf("%+v; want the limit reached, denials and refunds", counts)
	}
	poor, _ := s.newKey("none")
	s.call("GET", "/v1/postal/1000001", poor.Reveal(), "")
	s.lookUp(poor.Reveal())
	g, _ := s.signIn(key, c.now())
	for _, call := range [][3]string{
		{"GET", "/v1/user/usage"}, {"GET", "/v1/user/usage/history"}, {"GET", "/v1/user/tool-settings"},
		{"PUT", "/v1/user/tool-settings", `{"disabled_categories":[],"disabled_tools":["convert.era"]}`},
		{"GET", "/v1/user/grants"}, {"DELETE", "/v1/user/grants/" + g.ID},
	} {
		if got := s.call(call[0], call[1], secret.Reveal(), call[2]); got.status != 200 {
			s.t.Errorf("%v: %d %s", call, got.status, got.body)
		}
	}
	a.refused(s, c)
	a.unseen(s, c)
}

// refused is a message about a threshold that SNS refuses: the next delivery of the record sends it.
func (a *awsCalls) refused(s *service, c *clock) {
	s.t.Helper()
	a.set(func() { a.refusals = 1 })
	key := "key_bbbbbbbbbbbbbbbb"
	record := gateway.AccessRecord{Status: "200", Admission: gateway.Admission{
		Crossed: gateway.Crossing{Percent: 80, Used: 8, Limit: 10}.String(), Operation: "postal.lookup", KeyID: key, Meter: key,
		Period: thisMonthOf(c).String(), AdmissionID: usage.NewAdmissionID(c.now()), Units: "1", RefundCap: "100", UserID: "user", Plan: "metered",
	}}
	if err := a.deliver(s, record); err == nil {
		s.t.Error("settle takes a message for sent that SNS refused")
	}
	if err := a.deliver(s, record); err != nil {
		s.t.Fatal(err)
	}
}

// unseen is what takes a read more: answers that leave out the old item, of a refund of what was never
// charged and of a write that the limit denies.
func (a *awsCalls) unseen(s *service, c *clock) {
	s.t.Helper()
	a.set(func() { a.forgetful = true })
	defer a.set(func() { a.forgetful = false })
	key := "key_aaaaaaaaaaaaaaaa"
	record := gateway.AccessRecord{Status: "500", Admission: gateway.Admission{
		Operation: "postal.lookup", KeyID: key, Meter: key, Period: thisMonthOf(c).String(), AdmissionID: usage.NewAdmissionID(c.now()), Units: "1", RefundCap: "100",
	}}
	if err := a.deliver(s, record); err != nil {
		s.t.Fatal(err)
	}
	fresh, _ := s.newKey("metered")
	for range 2 {
		s.call("GET", "/v1/postal/1000001", fresh.Reveal(), "")
		s.lookUp(fresh.Reveal())
	}
}

// deliver has settle take what becomes a line of a log. The error is settle's.
func (a *awsCalls) deliver(s *service, logged any) error {
	s.t.Helper()
	line, err := json.Marshal(logged)
	if err != nil {
		s.t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	data := events.CloudwatchLogsData{MessageType: "DATA_MESSAGE", LogEvents: []events.CloudwatchLogsLogEvent{{Message: string(line)}}}
	if err := json.NewEncoder(w).Encode(data); err != nil || w.Close() != nil {
		s.t.Fatal(err)
	}
	payload, _ := json.Marshal(events.CloudwatchLogsEvent{AWSLogs: events.CloudwatchLogsRawData{Data: base64.StdEncoding.EncodeToString(zipped.Bytes())}})
	_, err = s.Functions.Invoke(laptop.Settle, payload, 0)
	return err
}

func runProxy(t *testing.T, a *awsCalls) {
	c := newClock("2026-11-30T12:00:00Z")
	s := start(t, meteredPlans, func(config *laptop.Config) { a.overAWS(config, c) })
	a.inAWS(s)
	a.drive(s, c)
	a.brake(boot.Proxy)
}

// runBackend publishes as often as a day allows.
func runBackend(t *testing.T, a *awsCalls) { a.backend(t, nil) }

// runRatedBackend is a backend that is not to be called too often, either.
func runRatedBackend(t *testing.T, a *awsCalls) {
	rate := 1.0
	a.backend(t, &rate)
	a.set(func() { a.forgetful = true })
	for range 3 { // a bucket that is full has answers that leave out how full
		_, err := a.stores("external").Buckets().Take(t.Context(), "external", ratelimit.Limit{PerSecond: 1, Burst: 1}, time.Now(), 0)
		if err != nil {
			t.Error(err)
		}
	}
}

func (a *awsCalls) backend(t *testing.T, rate *float64) {
	t.Helper()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	t.Cleanup(up.Close)
	s := start(t, meteredPlans, func(config *laptop.Config) {
		serveBackend(config, "external", backend.Settings{
			URL: up.URL, Private: true, Auth: &backend.Auth{Type: backend.Bearer, Place: backend.Place{Parameter: "/sekisho-dev/upstream-token"}},
			RatePerSecond: rate, PerDay: map[string]int{"external.publish_content": 1},
		})
		a.overAWS(config, newClock("2026-11-30T12:00:00Z"))
	})
	a.inAWS(s)
	secret, _ := s.newKey("metered")
	for _, tool := range []string{"external.fetch_stats", "external.publish_content", "external.publish_content"} {
		s.toolREST(secret.Reveal(), tool, "x")
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	a.set(func() { a.calls = map[string][]string{"external": a.calls["external"]} })
}

func runDirect(t *testing.T, a *awsCalls) {
	c := newClock("2026-11-30T12:00:00Z")
	s := dispatched(t, boot.Direct, meteredPlans, func(config *laptop.Config) { a.overAWS(config, c) })
	a.inAWS(s)
	a.drive(s, c)
	a.dispatch(s, c)
	a.brake(boot.Direct)
}

// dispatch has mcp invoke every function, and one that is busy, and settle look up what an invocation had
// admitted that gave no answer.
func (a *awsCalls) dispatch(s *service, c *clock) {
	s.t.Helper()
	secret, _ := s.newKey("metered")
	for tool, arguments := range map[string]string{
		"calendar_holidays": `{"year":2026}`, "convert_era": `{"date":"2026-11-30"}`, "external_fetch_stats": `{"resource_id":"x"}`, "utility_get_usage": `{}`,
	} {
		s.mcpCall(secret.Reveal(), tool, arguments)
	}
	a.set(func() { a.busy = true })
	s.lookUp(secret.Reveal())
	a.set(func() { a.busy = false })
	line, _ := json.Marshal(gateway.Dispatched{Invocation: "lost", AccessRecord: gateway.AccessRecord{Admission: gateway.Admission{AdmissionID: usage.NewAdmissionID(c.now())}}})
	a.set(func() { a.admitted = string(line) })
	report, _ := json.Marshal(gateway.NewReport(c.now(), "lost", "timeout"))
	if err := a.deliver(s, json.RawMessage(report)); err != nil {
		s.t.Fatal(err)
	}
}

func runOAuth(t *testing.T, a *awsCalls) {
	c := newClock("2026-11-30T12:00:00Z")
	door, keys := startOAuth(t, meteredPlans, nil, func(config *laptop.Config) { a.overAWS(config, c) })
	a.inAWS(door)
	a.inAWS(keys)
	secret, _ := keys.newKey("metered")
	h := newHost(door)
	first := h.redeem(secret.Reveal())
	if got := door.with(first.Access, "postal_lookup", aPostalCode); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	second := h.tokens(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {first.Refresh}})
	h.redeem(secret.Reveal()) // with another grant beside it
	if got := door.call("POST", "/revoke", "", url.Values{"token": {second.Refresh}, "client_id": {h.id}}.Encode(), "Content-Type", "application/x-www-form-urlencoded"); got.status != 200 {
		t.Errorf("revoke: %d %s", got.status, got.body)
	}
	a.drive(keys, c)
	a.dispatch(keys, c)
	a.brake(boot.Direct, "oauth")
}

func runIssuer(t *testing.T, a *awsCalls) {
	c := newClock("2026-11-30T12:00:00Z")
	co := startCompany(t, c.now)
	env := map[string]string{boot.OAuthIssuer: co.url, boot.OAuthAudience: "app-1", boot.OAuthNewUserPlan: "metered"}
	door, keys := startOAuth(t, meteredPlans, env, func(config *laptop.Config) { a.overAWS(config, c) })
	a.inAWS(keys)
	for range 2 {
		if got := door.with(co.token(t, "yuki"), "postal_lookup", aPostalCode); got.status != 200 {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	a.drive(keys, c)
	a.dispatch(keys, c)
	a.brake(boot.Direct, "oauth")
}

// brake puts the brake on, and has a run of its function carry out a release that came meanwhile. doors
// are the functions that only another door leads to.
func (a *awsCalls) brake(dispatch string, doors ...string) {
	t := a.t
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	var functions []string
	for _, name := range laptop.Braked(api, dispatch, append(api.Functions(), doors...)) {
		functions = append(functions, "sekisho-dev-"+name)
	}
	alarms := "sekisho-dev-spend-rate,sekisho-dev-spend-average"
	for _, door := range doors {
		alarms += ",sekisho-dev-spend-rate-" + door + ",sekisho-dev-spend-average-" + door
	}
	topic := "arn:aws:sns:us-east-1:123456789012:sekisho-dev-money"
	env := merge(a.env("brake"), map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "sekisho-dev-brake", boot.BrakeFunctions: strings.Join(functions, ","), boot.BrakeTopicARN: topic,
		boot.BrakeAlarms: alarms, boot.BrakeBudget: "sekisho-dev-monthly",
		boot.BrakeParameter: "/sekisho/sekisho-dev/brake", boot.APIID: "api", boot.Stage: "live",
	})
	var made *brake.Brake
	invoker, err := handler.FromEnv(dynamo.FromEnv, func(rt boot.Runtime, c brake.Config, m brake.Memory) (*brake.Brake, error) {
		made, err = awsbrake.FromEnv(rt, c, m)
		return made, err
	})(boot.Runtime{Function: "brake", Env: boot.Map(env), Log: zap.NewNop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	message := strings.ReplaceAll(alarm(t), laptop.SpendAlarm, "sekisho-dev-spend-rate")
	payload, _ := json.Marshal(events.SNSEvent{Records: []events.SNSEventRecord{{EventSource: "aws:sns", SNS: events.SNSEntity{TopicArn: topic, Message: message, Timestamp: time.Now()}}}})
	if _, err := invoker.Invoke(t.Context(), payload); err != nil {
		t.Fatal(err)
	}
	if effect, err := made.Release(t.Context()); err != nil || effect != brake.Released {
		t.Fatal(effect, err)
	}
}
