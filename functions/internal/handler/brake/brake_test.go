package brake

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
)

// tripper notes what it is told.
type tripper struct {
	causes []brake.Cause
	at     []time.Time
	effect brake.Effect
	err    error
}

func (b *tripper) Trip(_ context.Context, cause brake.Cause, at time.Time) (brake.Effect, error) {
	b.causes, b.at = append(b.causes, cause), append(b.at, at)
	return b.effect, b.err
}

const topic = "arn:aws:sns:us-east-1:123456789012:demo-money"

func setUp() (*Handler, *tripper, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	b := &tripper{effect: brake.Braked}
	return &Handler{
		Topic: topic, Brake: b, Log: zap.New(core),
		Rules: brake.Rules{Alarms: []string{"demo-spend-rate"}, Budget: "demo-monthly", BudgetPercent: 100},
	}, b, logs
}

// event is what Lambda gives to the function, by its JSON.
func event(t *testing.T, change func(sns map[string]any, record map[string]any)) events.SNSEvent {
	t.Helper()
	alarm, err := os.ReadFile(filepath.Join("..", "..", "brake", "testdata", "alarm.json"))
	if err != nil {
		t.Fatal(err)
	}
	sns := map[string]any{
		"Type": "Notification", "MessageId": "m-1", "TopicArn": topic, "Subject": "ALARM: demo-spend-rate",
		"Message": string(alarm), "Timestamp": "2026-11-30T07:41:00.638Z", "MessageAttributes": map[string]any{},
	}
	record := map[string]any{"EventSource": "aws:sns", "EventVersion": "1.0", "Sns": sns}
	if change != nil {
		change(sns, record)
	}
	raw, err := json.Marshal(map[string]any{"Records": []any{record}})
	if err != nil {
		t.Fatal(err)
	}
	var e events.SNSEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestObeys(t *testing.T) {
	h, b, logs := setUp()
	if err := h.Handle(t.Context(), event(t, nil)); err != nil {
		t.Fatal(err)
	}
	if len(b.causes) != 1 || b.causes[0].Name != "demo-spend-rate" || !b.at[0].Equal(time.Date(2026, 11, 30, 7, 41, 0, 638e6, time.UTC)) {
		t.Errorf("tripped %+v at %v", b.causes, b.at)
	}
	if entry := logs.All()[0].ContextMap(); entry["effect"] != "braked" || entry["message_id"] != "m-1" {
		t.Errorf("logged %v", entry)
	}
}

func TestIgnores(t *testing.T) {
	for name, c := range map[string]struct {
		change func(sns, record map[string]any)
		why    string
	}{
		"another topic":   {func(sns, _ map[string]any) { sns["TopicArn"] = topic + "-2" }, "another topic"},
		"no topic":        {func(sns, _ map[string]any) { delete(sns, "TopicArn") }, "another topic"},
		"another source":  {func(_, record map[string]any) { record["EventSource"] = "aws:s3" }, "not from SNS"},
		"its own message": {func(sns, _ map[string]any) { sns["MessageAttributes"] = map[string]any{brake.Mark: nil} }, "own message"},
		"no time":         {func(sns, _ map[string]any) { delete(sns, "Timestamp") }, "without its time"},
		"malformed":       {func(sns, _ map[string]any) { sns["Message"] = `{"AlarmName":` }, "can't be read"},
		"an OK": {func(sns, _ map[string]any) {
			sns["Message"] = strings.Replace(sns["Message"].(string), `"ALARM"`, `"OK"`, 1)
		}, "releases nothing"},
	} {
		h, b, logs := setUp()
		if err := h.Handle(t.Context(), event(t, c.change)); err != nil {
			t.Errorf("%s: %v; a repetition would change nothing", name, err)
		}
		if len(b.causes) != 0 {
			t.Errorf("%s: braked", name)
		}
		if entries := logs.All(); len(entries) != 1 || !strings.Contains(entries[0].ContextMap()["why"].(string), c.why) {
			t.Errorf("%s: logged %v, want why: %s", name, entries, c.why)
		}
	}
	h, _, logs := setUp()
	if err := h.Handle(t.Context(), events.SNSEvent{}); err != nil || logs.Len() != 1 {
		t.Errorf("an event of no topic: %v, %d lines", err, logs.Len())
	}
}

// TestAFailureIsDeliveredAgain, and does not keep other messages from being read.
func TestAFailureIsDeliveredAgain(t *testing.T) {
	h, b, _ := setUp()
	b.err = errors.New("lambda is down")
	e := event(t, nil)
	e.Records = append(e.Records, e.Records[0])
	if err := h.Handle(t.Context(), e); !errors.Is(err, b.err) {
		t.Errorf("error %v", err)
	}
	if len(b.causes) != 2 {
		t.Errorf("tripped %d times, want 2", len(b.causes))
	}
}

func environment() map[string]string {
	return map[string]string{
		boot.BrakeFunctions: "demo-calendar, demo-mcp", boot.BrakeTopicARN: topic, boot.BrakeAlarms: "demo-spend-rate",
		boot.BrakeBudget: "demo-monthly", boot.BrakeBudgetPercent: "80", boot.BrakeParameter: "/sekisho/demo/brake", boot.APIID: "abc", boot.Stage: "live",
	}
}

func TestReadConfig(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig(boot.Map(environment()), api)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.Functions, []string{"demo-calendar", "demo-mcp"}) || c.Rules.BudgetPercent != 80 || c.MemoryName() != "abc/live" || c.Topic != topic {
		t.Errorf("read %+v", c)
	}
	for variable, value := range map[string]string{
		boot.BrakeFunctions: "", boot.BrakeTopicARN: "", boot.APIID: "", boot.Stage: "", boot.BrakeParameter: "", boot.BrakeBudgetPercent: "all",
	} {
		env := environment()
		env[variable] = value
		if _, err := ReadConfig(boot.Map(env), api); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s = %q: %v", variable, value, err)
		}
	}
	for _, name := range api.NeverBraked() {
		for _, deployed := range []string{name, "demo-" + name} {
			env := environment()
			env[boot.BrakeFunctions] += "," + deployed
			if _, err := ReadConfig(boot.Map(env), api); err == nil || !strings.Contains(err.Error(), deployed) {
				t.Errorf("%s may be stopped: %v", deployed, err)
			}
		}
	}
}
