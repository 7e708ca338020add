package settle

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// memory is a store that applies a refund once, as every store must.
type memory struct {
	seen     map[string]bool
	refunds  []usage.Refund
	denied   map[string]int64
	failures int
}

func newMemory() *memory { return &memory{seen: map[string]bool{}, denied: map[string]int64{}} }

func (m *memory) Refund(_ context.Context, r usage.Refund) (usage.Outcome, error) {
	if m.failures > 0 {
		m.failures--
		return "", errors.New("store down")
	}
	if m.seen[r.AdmissionID] {
		return usage.AlreadyRefunded, nil
	}
	m.seen[r.AdmissionID] = true
	m.refunds = append(m.refunds, r)
	return usage.Refunded, nil
}

func (m *memory) AddDenied(_ context.Context, meter string, p usage.Period, n int64) error {
	m.denied[meter+" "+p.String()] += n
	return nil
}

func handler(m *memory) (*Handler, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	return &Handler{Store: m, Log: zap.New(core), Now: time.Now}, logs
}

func delivery(t testing.TB, lines ...string) events.CloudwatchLogsEvent {
	t.Helper()
	data := events.CloudwatchLogsData{MessageType: "DATA_MESSAGE"}
	for i, line := range lines {
		data.LogEvents = append(data.LogEvents, events.CloudwatchLogsLogEvent{ID: fmt.Sprint(i), Message: line})
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(encoded); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return events.CloudwatchLogsEvent{AWSLogs: events.CloudwatchLogsRawData{Data: base64.StdEncoding.EncodeToString(b.Bytes())}}
}

func record(change map[string]string) string {
	r := map[string]string{
		"request_id": "r", "status": "404", "admission_id": "adm_0123456789abcdefghij", "operation": "postal.lookup",
		"key_id": "key_a", "meter": "key_m", "period": "2026-11", "units": "2", "refund_cap": "100", "denial": "-",
	}
	for name, value := range change {
		r[name] = value
	}
	text, _ := json.Marshal(r)
	return string(text)
}

func TestDeliveredThreeTimesRefundsOnce(t *testing.T) {
	m := newMemory()
	h, _ := handler(m)
	event := delivery(t, record(nil), record(nil))
	for range 3 {
		if err := h.Handle(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	want := usage.Refund{
		AdmissionID: "adm_0123456789abcdefghij", Meter: "key_m", Operation: "postal.lookup", Units: 2, Cap: 100,
	}
	want.Period, _ = usage.ParsePeriod("2026-11")
	if len(m.refunds) != 1 || m.refunds[0] != want {
		t.Fatalf("refunds %+v, want one of %+v", m.refunds, want)
	}
}

func TestWhatIsRefunded(t *testing.T) {
	for status, want := range map[string]int{
		"200": 0, "204": 0, "301": 0, "304": 0, "400": 1, "401": 1, "404": 1, "429": 1, "499": 1, "500": 1, "502": 1,
		"503": 1, "504": 1,
	} {
		m := newMemory()
		h, _ := handler(m)
		if err := h.Handle(t.Context(), delivery(t, record(map[string]string{"status": status}))); err != nil {
			t.Fatal(err)
		}
		if len(m.refunds) != want {
			t.Errorf("status %s: %d refunds, want %d", status, len(m.refunds), want)
		}
	}
}

// TestDashboardAsksForTheLogLine: the dashboard's query about refunds names fields of settle's log.
func TestDashboardAsksForTheLogLine(t *testing.T) {
	source, err := os.ReadFile("../../../../modules/observability/dashboard.tf")
	if err != nil {
		t.Fatal(err)
	}
	query := regexp.MustCompile(`filter msg = \\"(\w+)\\" \| stats count\(\*\) as calls by (\w+), (\w+)`).FindStringSubmatch(string(source))
	if query == nil {
		t.Fatal("the dashboard has no query about refunds")
	}
	h, logs := handler(newMemory())
	if err := h.Handle(t.Context(), delivery(t, record(nil))); err != nil {
		t.Fatal(err)
	}
	lines := logs.FilterMessage(query[1]).All()
	if len(lines) != 1 {
		t.Fatalf("%d log lines say %s, want 1", len(lines), query[1])
	}
	for _, field := range query[2:] {
		if lines[0].ContextMap()[field] == nil {
			t.Errorf("the dashboard asks for %s, which the line does not have: %v", field, lines[0].ContextMap())
		}
	}
}

func TestDenialsAreAddedUp(t *testing.T) {
	m := newMemory()
	h, _ := handler(m)
	denied := record(map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429"})
	if err := h.Handle(t.Context(), delivery(t, denied, denied, record(nil), denied)); err != nil {
		t.Fatal(err)
	}
	if m.denied["key_m 2026-11"] != 3 || len(m.refunds) != 1 {
		t.Fatalf("denied %v, refunds %d; want 3 and 1", m.denied, len(m.refunds))
	}
}

func TestAFailedStoreAsksForRedelivery(t *testing.T) {
	m := newMemory()
	m.failures = 1
	h, _ := handler(m)
	second := record(map[string]string{"admission_id": "adm_0123456789abcdefghik"})
	denied := record(map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429"})
	event := delivery(t, record(nil), second, denied)
	if err := h.Handle(t.Context(), event); err == nil {
		t.Fatal("no error: the delivery would not be repeated")
	}
	if len(m.refunds) != 1 || len(m.denied) != 0 {
		t.Fatalf("after a failure: %d refunds, denied %v; want the other refund, and no denials yet", len(m.refunds), m.denied)
	}
	if err := h.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if len(m.refunds) != 2 || m.denied["key_m 2026-11"] != 1 {
		t.Fatalf("after redelivery: %d refunds, denied %v", len(m.refunds), m.denied)
	}
}

func TestBadRecordsAreLeftAndLogged(t *testing.T) {
	bad := []string{
		``, `{`, `[]`, `"x"`, `{"status":404}`, "\xff\xfe",
		record(map[string]string{"status": "soon"}), record(map[string]string{"status": "99"}),
		record(map[string]string{"admission_id": "adm_short"}), record(map[string]string{"admission_id": "x"}),
		record(map[string]string{"meter": "-"}), record(map[string]string{"meter": "meter"}),
		record(map[string]string{"period": "2026-13"}), record(map[string]string{"units": "0"}),
		record(map[string]string{"units": "-5"}), record(map[string]string{"units": "1.5"}),
		record(map[string]string{"refund_cap": "-2"}), record(map[string]string{"refund_cap": "-"}),
	}
	for _, line := range bad {
		m := newMemory()
		h, logs := handler(m)
		good := record(map[string]string{"admission_id": "adm_0123456789abcdefghik"})
		if err := h.Handle(t.Context(), delivery(t, line, good)); err != nil {
			t.Errorf("%q: %v; repeating it would not help", line, err)
		}
		if len(m.refunds) != 1 {
			t.Errorf("%q: %d refunds; want that of the good record behind it", line, len(m.refunds))
		}
		if logs.FilterLevelExact(zap.WarnLevel).Len() != 1 {
			t.Errorf("%q: was not logged", line)
		}
	}
}

func TestForeignDeliveries(t *testing.T) {
	m := newMemory()
	h, _ := handler(m)
	for _, data := range []string{"", "!", base64.StdEncoding.EncodeToString([]byte("no gzip"))} {
		event := events.CloudwatchLogsEvent{AWSLogs: events.CloudwatchLogsRawData{Data: data}}
		if err := h.Handle(t.Context(), event); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(record(nil))
	f.Add(`{"status":"-","admission_id":"-"}`)
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := gateway.ParseAccessRecord([]byte(line))
		if err != nil {
			return
		}
		refund, due, err := RefundOf(r)
		if err == nil && due && (refund.Units < 1 || refund.Cap < usage.Unlimited || refund.AdmissionID == "") {
			t.Fatalf("%q gives a refund that can't be: %+v", line, refund)
		}
	})
}
