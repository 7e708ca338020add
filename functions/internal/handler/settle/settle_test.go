package settle

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// memory is a store that applies a refund once, as every store must.
type memory struct {
	mu      sync.Mutex
	seen    map[string]bool
	refunds []usage.Refund // a call each
	denied  map[string]int64
	asked   int
	told    map[string]bool
	down    string // the meter that can't be written
	noCount bool   // denials can't be counted
	cant    string // "once" or "again"
}

var errStore = errors.New("store down")

func newMemory() *memory {
	return &memory{seen: map[string]bool{}, told: map[string]bool{}, denied: map[string]int64{}}
}

func (m *memory) Refund(_ context.Context, r usage.Refund) ([]usage.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked++
	if m.down == r.Meter {
		return nil, errors.New("store down")
	}
	var outcomes []usage.Outcome
	for _, c := range r.Calls {
		if m.seen[c.AdmissionID] {
			outcomes = append(outcomes, usage.AlreadyRefunded)
			continue
		}
		m.seen[c.AdmissionID] = true
		one := r
		one.Calls = []usage.FailedCall{c}
		m.refunds = append(m.refunds, one)
		outcomes = append(outcomes, usage.Refunded)
	}
	return outcomes, nil
}

func (m *memory) AddDenied(_ context.Context, meter string, p usage.Period, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noCount {
		return errors.New("store down")
	}
	m.denied[meter+" "+p.String()] += n
	return nil
}

func (m *memory) Once(_ context.Context, name string, p usage.Period) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cant == "once" {
		return false, errStore
	}
	first := !m.told[name+" "+p.String()]
	m.told[name+" "+p.String()] = true
	return first, nil
}

func (m *memory) Again(_ context.Context, name string, p usage.Period) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cant == "again" {
		return errStore
	}
	delete(m.told, name+" "+p.String())
	return nil
}

func handler(m *memory) (*Handler, *observer.ObservedLogs) {
	core, logs := observer.New(zap.DebugLevel)
	api, err := contract.Default()
	if err != nil {
		panic(err)
	}
	return &Handler{API: api, Store: m, Log: zap.New(core), Now: time.Now}, logs
}

func delivery(t testing.TB, lines ...string) events.CloudwatchLogsEvent {
	t.Helper()
	return deliveryOf(t, "DATA_MESSAGE", lines...)
}

func deliveryOf(t testing.TB, kind string, lines ...string) events.CloudwatchLogsEvent {
	t.Helper()
	data := events.CloudwatchLogsData{MessageType: kind}
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

// november is the month that the records charge; one and two were admitted in it.
var (
	november = usage.PeriodOf(time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC))
	one      = usage.NewAdmissionID(november.Start())
	two      = usage.NewAdmissionID(november.Start().Add(time.Hour))
)

// record is of a call that failed, as the access log has it; "-" leaves a value out.
func record(change map[string]string) string {
	r := map[string]string{"request_id": "r", "status": "404", "response_type": "-"}
	said := map[string]string{
		"admission_id": one, "operation": "postal.lookup", "key_id": "key_a", "meter": "key_m", "units": "2", "refund_cap": "100",
	}
	for name, value := range change {
		if _, ok := r[name]; ok {
			r[name] = value
		} else {
			said[name] = value
		}
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(said)) {
		if said[name] != "-" {
			pairs = append(pairs, name+"="+said[name])
		}
	}
	r["gate"] = strings.Join(pairs, " ")
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
	want := usage.Refund{Meter: "key_m", Period: november, Cap: 100, Calls: []usage.FailedCall{
		{AdmissionID: one, Operation: h.API.Operation("postal.lookup").Code, Units: 2},
	}}
	if len(m.refunds) != 1 || !reflect.DeepEqual(m.refunds[0], want) {
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
		if len(m.refunds) != want || m.asked != want {
			t.Errorf("status %s: %d refunds with %d questions, want %d", status, len(m.refunds), m.asked, want)
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
	all := logs.FilterMessage("settle").All()
	if tally, _ := all[0].ContextMap()["outcomes"].(map[usage.Outcome]int); len(all) != 1 || tally[usage.Refunded] != 1 {
		t.Errorf("the delivery's line has %v", all[0].ContextMap())
	}
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
	denied := record(map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429", "period": "2026-11"})
	if err := h.Handle(t.Context(), delivery(t, denied, denied, record(nil), denied)); err != nil {
		t.Fatal(err)
	}
	if m.denied["key_m 2026-11"] != 3 || len(m.refunds) != 1 {
		t.Fatalf("denied %v, refunds %d; want 3 and 1", m.denied, len(m.refunds))
	}
}

// TestDenialsOfNobody: a denial without a meter or a month, as of an unknown key, is nobody's.
func TestDenialsOfNobody(t *testing.T) {
	for _, lacks := range []map[string]string{{"meter": "-", "key_id": "-"}, {"period": "-"}, {"period": "2026-13"}} {
		denied := map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429", "period": "2026-11"}
		maps.Copy(denied, lacks)
		m := newMemory()
		h, _ := handler(m)
		if err := h.Handle(t.Context(), delivery(t, record(denied))); err != nil || len(m.denied) != 0 {
			t.Errorf("%v: %v, denied %v", lacks, err, m.denied)
		}
	}
}

// TestFromEnv: the function does not start without what it needs, and has what its variables name.
func TestFromEnv(t *testing.T) {
	down := errors.New("not to be had")
	fails := map[string]error{}
	start := func(env map[string]string) error {
		open := func(boot.Env, ...string) (store.Store, error) { return &sqlite.DB{}, fails["store"] }
		topic := func(_ boot.Env, variable string) (Publisher, error) { return nil, fails[variable] }
		admissions := func(_ boot.Env, variable string) (Admissions, error) { return nil, fails[variable] }
		f, err := FromEnv(open, Platform{topic, admissions})(boot.Runtime{Env: boot.Map(env), Log: zap.NewNop(), Now: time.Now})
		if (f == nil) != (err != nil) {
			t.Errorf("function %v comes with %v", f, err)
		}
		return err
	}
	if err := start(nil); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"store", boot.UsageTopicARN, boot.DispatchLogGroup} {
		fails = map[string]error{what: down}
		if err := start(nil); !errors.Is(err, down) {
			t.Errorf("without %s: %v", what, err)
		}
	}
	fails = nil
	if err := start(map[string]string{contract.FileVariable: filepath.Join(t.TempDir(), "none.json")}); err == nil {
		t.Error("it starts without its contract")
	}
}

func TestAFailedStoreAsksForRedelivery(t *testing.T) {
	m := newMemory()
	m.down = "key_m"
	h, _ := handler(m)
	other := record(map[string]string{"admission_id": two, "meter": "key_n"})
	denied := record(map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429", "period": "2026-11"})
	event := delivery(t, record(nil), other, denied)
	if err := h.Handle(t.Context(), event); err == nil {
		t.Fatal("no error: the delivery would not be repeated")
	}
	if len(m.refunds) != 1 || len(m.denied) != 0 {
		t.Fatalf("after a failure: %d refunds, denied %v; want the other meter's refund, and no denials yet", len(m.refunds), m.denied)
	}
	m.down = ""
	if err := h.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if len(m.refunds) != 2 || m.denied["key_m 2026-11"] != 1 {
		t.Fatalf("after redelivery: %d refunds, denied %v", len(m.refunds), m.denied)
	}
}

// TestUncountedDenialsAskForRedelivery: the repetition counts them, and refunds nothing twice.
func TestUncountedDenialsAskForRedelivery(t *testing.T) {
	m := newMemory()
	m.noCount = true
	h, _ := handler(m)
	event := delivery(t, record(nil), record(map[string]string{"denial": "limit_exceeded", "admission_id": "-", "status": "429", "period": "2026-11"}))
	if err := h.Handle(t.Context(), event); err == nil {
		t.Fatal("no error: the denials are lost")
	}
	m.noCount = false
	if err := h.Handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if len(m.refunds) != 1 || m.denied["key_m 2026-11"] != 1 {
		t.Errorf("%d refunds, denied %v; want one of each", len(m.refunds), m.denied)
	}
}

// TestControlMessagesAreNoRecords: CloudWatch Logs sends one to test a new subscription. Its text
// is not the access log's, even where it looks so.
func TestControlMessagesAreNoRecords(t *testing.T) {
	m := newMemory()
	h, logs := handler(m)
	event := deliveryOf(t, "CONTROL_MESSAGE", "CWL CONTROL MESSAGE: Checking health of destination", record(nil))
	if err := h.Handle(t.Context(), event); err != nil || len(m.refunds) != 0 || logs.Len() != 0 {
		t.Errorf("%v, %d refunds, logged %v", err, len(m.refunds), logs.All())
	}
}

// TestAStormIsSettledTogether: ten thousand failed records are a question per meter, not one
// per record.
func TestAStormIsSettledTogether(t *testing.T) {
	m := newMemory()
	h, _ := handler(m)
	lines := make([]string, 10_000)
	for i := range lines {
		lines[i] = record(map[string]string{
			"admission_id": usage.NewAdmissionID(november.Start().Add(time.Duration(i) * time.Millisecond)),
			"meter":        fmt.Sprintf("key_%d", i%40),
		})
	}
	if err := h.Handle(t.Context(), delivery(t, lines...)); err != nil {
		t.Fatal(err)
	}
	if len(m.refunds) != len(lines) || m.asked != 40 {
		t.Errorf("%d refunds with %d questions, want %d with 40", len(m.refunds), m.asked, len(lines))
	}
}

// TestWhatNeverStarted is told from what failed in a function.
func TestWhatNeverStarted(t *testing.T) {
	for response, want := range map[string]bool{"INTEGRATION_FAILURE": true, "INTEGRATION_TIMEOUT": false, "DEFAULT_5XX": false, "-": false} {
		m := newMemory()
		h, _ := handler(m)
		if err := h.Handle(t.Context(), delivery(t, record(map[string]string{"status": "503", "response_type": response}))); err != nil {
			t.Fatal(err)
		}
		if len(m.refunds) != 1 || m.refunds[0].Calls[0].Unstarted != want {
			t.Errorf("%s: refunds %+v; want unstarted %t", response, m.refunds, want)
		}
	}
}

func TestBadRecordsAreLeftAndLogged(t *testing.T) {
	bad := []string{
		``, `{`, `[]`, `"x"`, `{"status":404}`, "\xff\xfe",
		record(map[string]string{"status": "soon"}), record(map[string]string{"status": "99"}),
		record(map[string]string{"admission_id": "adm_short"}), record(map[string]string{"admission_id": usage.NewAdmissionID(november.Reset()), "period": "2026-11"}), record(map[string]string{"admission_id": "x"}),
		record(map[string]string{"meter": "-", "key_id": "-"}), record(map[string]string{"meter": "meter"}), record(map[string]string{"operation": "postal.lookup more"}),
		record(map[string]string{"period": "2026-13"}), record(map[string]string{"units": "0"}),
		record(map[string]string{"units": "-5"}), record(map[string]string{"units": "1.5"}),
		record(map[string]string{"refund_cap": "-2"}), record(map[string]string{"refund_cap": "-"}),
	}
	for _, line := range bad {
		m := newMemory()
		h, logs := handler(m)
		good := record(map[string]string{"admission_id": two})
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
	for _, data := range []string{"", "!", base64.StdEncoding.EncodeToString([]byte("no gzip"))} {
		h, logs := handler(newMemory())
		event := events.CloudwatchLogsEvent{AWSLogs: events.CloudwatchLogsRawData{Data: data}}
		if err := h.Handle(t.Context(), event); err != nil || logs.FilterLevelExact(zap.ErrorLevel).Len() != 1 || logs.Len() != 1 {
			t.Errorf("%q: %v, logged %v", data, err, logs.All())
		}
	}
}

func FuzzRecord(f *testing.F) {
	api, err := contract.Default()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record(nil))
	f.Add(`{"status":"-","gate":"-"}`)
	f.Add("\x00")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := gateway.ParseAccessRecord([]byte(line))
		if err != nil {
			return
		}
		refund, due, err := r.Refund(api.CodeOf)
		if err == nil && due && (len(refund.Calls) != 1 || refund.Check() != nil || refund.Cap < usage.Unlimited) {
			t.Fatalf("%q gives a refund that can't be: %+v", line, refund)
		}
	})
}
