package settle

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// topic keeps what was published, and fails as often as it is told.
type topic struct {
	failures int
	messages []string
}

func (p *topic) Publish(_ context.Context, subject, message string) error {
	if p.failures > 0 {
		p.failures--
		return errors.New("topic down")
	}
	p.messages = append(p.messages, subject+"\n"+message)
	return nil
}

func crossed(percent int, used int64, at time.Time) string {
	return record(map[string]string{
		"status": "200", "admission_id": usage.NewAdmissionID(at), "user_id": "alice", "plan": "free",
		"crossed": gateway.Crossing{Percent: percent, Used: used, Limit: 1000}.String(),
	})
}

// TestThresholdsAreToldOnce: however often the record comes, and after a topic that was down.
func TestThresholdsAreToldOnce(t *testing.T) {
	m, p := newMemory(), &topic{failures: 1}
	h, _ := handler(m)
	h.Topic = p
	event := delivery(t, crossed(80, 800, november.Start().Add(10*24*time.Hour)))
	if err := h.Handle(t.Context(), event); err == nil {
		t.Fatal("the topic was down, and the delivery would not be repeated")
	}
	for range 3 {
		if err := h.Handle(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	later := delivery(t, crossed(80, 801, november.Start().Add(11*24*time.Hour)), crossed(100, 1000, november.Start().Add(12*24*time.Hour)))
	if err := h.Handle(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if len(p.messages) != 2 || len(m.refunds) != 0 {
		t.Fatalf("messages %q, refunds %v; want one of each percentage and no refund", p.messages, m.refunds)
	}
	subject, body, _ := strings.Cut(p.messages[0], "\n")
	var message Threshold
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		t.Fatal(err)
	}
	day := "2026-11-13" // 800 units in ten days, 1,000 in twelve and a half
	want := Threshold{"usage_threshold", 80, "key_a", "key_m", "alice", "free", "2026-11", 800, 1000, &day}
	if message.RunsOutOn == nil || *message.RunsOutOn != day {
		t.Errorf("runs out on %v, want %s", message.RunsOutOn, day)
	}
	message.RunsOutOn = want.RunsOutOn
	if message != want || subject != "Sekisho: key key_a has used 80 % of its month" {
		t.Errorf("%s: %+v", subject, message)
	}
}

func TestRunsOutOn(t *testing.T) {
	c := gateway.Crossing{Percent: 80, Used: 800, Limit: 1000}
	if day := runsOutOn(november, c, november.Start().Add(25*24*time.Hour)); day != nil {
		t.Errorf("at a slow pace the month ends first, not %s", *day)
	}
	if day := runsOutOn(november, c, november.Start()); day != nil {
		t.Errorf("in no time: %s", *day)
	}
	c.Used, c.Limit = 1, 2
	if day := runsOutOn(november, c, november.Start().Add(time.Nanosecond)); day == nil || *day != "2026-11-01" {
		t.Errorf("after the first call of the month: %v", day)
	}
	c.Used = 0
	if day := runsOutOn(november, c, november.Start().Add(time.Hour)); day != nil {
		t.Errorf("with nothing used: %s", *day)
	}
}

// TestThresholdsThatCantBeNoted: the delivery comes again, and with it the message.
func TestThresholdsThatCantBeNoted(t *testing.T) {
	m, p := newMemory(), &topic{failures: 1}
	h, _ := handler(m)
	h.Topic = p
	event := delivery(t, crossed(80, 800, november.Start().Add(24*time.Hour)))
	for _, op := range []string{"once", "again"} {
		m.cant = op
		if err := h.Handle(t.Context(), event); !errors.Is(err, errStore) {
			t.Errorf("%s fails: %v", op, err)
		}
	}
	if len(p.messages) != 0 {
		t.Errorf("told %q", p.messages)
	}
}
