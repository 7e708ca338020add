package laptop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/usage"
)

// killed is a service with calls that were charged by an earlier one, which was killed before
// it could settle those that failed, and the access log that it left.
type killed struct {
	*service
	key                account.Key
	accesses, position string
}

func afterAKill(t *testing.T) *killed {
	s := start(t, account.Plans{"demo": usage.PerMonth(1000)}, nil)
	_, key := s.newKey("demo")
	dir := t.TempDir()
	return &killed{s, key, filepath.Join(dir, "access.jsonl"), filepath.Join(dir, "settled.json")}
}

// charge takes a unit in a month and returns the record of the call.
func (k *killed) charge(p usage.Period, status string) string {
	k.t.Helper()
	at := p.Start().Add(time.Hour)
	id := usage.NewAdmissionID(at)
	if _, err := k.stores.Usage().Admit(k.t.Context(), usage.Admission{
		ID: id, At: at, Meter: k.key.Meter, Operation: "ao", Units: 1, Limits: usage.PerMonth(1000),
	}); err != nil {
		k.t.Fatal(err)
	}
	return fmt.Sprintf(`{"gate":"admission_id=%s operation=postal.lookup key_id=%s refund_cap=100","status":%q,"request_id":"r"}`+"\n", id, k.key.Meter, status)
}

func (k *killed) write(flags int, text string) {
	k.t.Helper()
	f, err := os.OpenFile(k.accesses, flags|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *killed) append(lines ...string) { k.write(os.O_APPEND, strings.Join(lines, "")) }

// replays the log and wants so many units given back in a month, and that so many records went
// to settle.
func (k *killed) replays(p usage.Period, refunded int64, records int) {
	k.t.Helper()
	before := strings.Count(k.service.log.String(), `"msg":"refund"`)
	if err := k.Replay(k.t.Context(), k.accesses, k.position); err != nil {
		k.t.Fatal(err)
	}
	if got := k.used(k.key, p); got.Refunded != refunded {
		k.t.Errorf("%d given back in %s, want %d", got.Refunded, p, refunded)
	}
	if got := strings.Count(k.service.log.String(), `"msg":"refund"`) - before; got != records {
		k.t.Errorf("%d records were settled, want %d", got, records)
	}
}

// TestReplay: failed calls of this month and the one before are given back, once.
func TestReplay(t *testing.T) {
	k := afterAKill(t)
	month := thisMonth()
	if err := k.Replay(t.Context(), k.accesses, k.position); err != nil {
		t.Errorf("without a log: %v", err)
	}
	k.append(k.charge(month, "200"), k.charge(month, "404"), "not JSON\n", k.charge(month, "502"),
		k.charge(month.Before(1), "500"), k.charge(month.Before(2), "500"),
		fmt.Sprintf(`{"gate":"denial=limit_exceeded meter=%s period=%s","status":"429"}`+"\n", k.key.Meter, month))
	k.replays(month, 2, 3)
	if c := k.used(k.key, month); c.Used != 1 || c.Denied != 0 {
		t.Errorf("%+v; want one used, and no denial counted again", c)
	}
	if c := k.used(k.key, month.Before(1)); c.Refunded != 1 {
		t.Errorf("the month before: %+v; want one given back", c)
	}
	if c := k.used(k.key, month.Before(2)); c.Refunded != 0 {
		t.Errorf("two months before: %+v; the marks of its refunds may be gone", c)
	}
}

// TestReplayPosition saves work, and nothing depends on it.
func TestReplayPosition(t *testing.T) {
	k := afterAKill(t)
	month := thisMonth()
	k.append(k.charge(month, "404"), k.charge(month, "404"))
	k.replays(month, 2, 2)
	k.replays(month, 2, 0) // it is remembered

	last := k.charge(month, "404")
	k.append(last[:20]) // cut short by a kill, or written just now
	k.replays(month, 2, 0)
	k.append(last[20:])
	k.replays(month, 3, 1)

	for name, spoil := range map[string]func(){
		"gone":     func() { os.Remove(k.position) },
		"no JSON":  func() { os.WriteFile(k.position, []byte("x"), 0o600) },
		"negative": func() { os.WriteFile(k.position, []byte(`{"offset":-1}`), 0o600) },
		"beyond":   func() { os.WriteFile(k.position, []byte(`{"offset":1000000,"before":""}`), 0o600) },
	} {
		spoil()
		t.Log(name)
		k.replays(month, 3, 3)
	}
	// Another log in its place, as large: the position is not of that.
	k.write(os.O_TRUNC, k.charge(month, "404")+k.charge(month, "404")+k.charge(month, "404")+k.charge(month, "404"))
	k.replays(month, 7, 4)
}
