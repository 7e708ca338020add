package admission

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
)

// TestFromEnv: the gate and both authenticators work as the environment says.
func TestFromEnv(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	rt := boot.Runtime{Env: boot.Map(map[string]string{
		boot.Plans: `{"free":{"monthly":1}}`, boot.UpgradeURL: "https://example.com/plans", boot.UsagePercent: "1,100",
	}), Log: zap.NewNop(), Now: time.Now}
	keys, err := KeysFromEnv(rt, db)
	if err != nil || keys == nil {
		t.Fatalf("keys %v, %v", keys, err)
	}
	if grants, err := GrantsFromEnv(rt, db, keys); err != nil || grants == nil {
		t.Errorf("grants %v, %v", grants, err)
	}
	gate, err := FromEnv(rt, db)
	if err != nil {
		t.Fatal(err)
	}
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	key := account.Key{ID: "key_a", Meter: "key_a", Plan: "free"}
	d, err := gate.Admit(t.Context(), key, api.Operation("postal.lookup"))
	if err != nil || d.Refusal != nil || d.Context.Crossed != (gateway.Crossing{Percent: 100, Used: 1, Limit: 1}).String() {
		t.Errorf("the first call: %+v, %v", d, err)
	}
	d, err = gate.Admit(t.Context(), key, api.Operation("postal.lookup"))
	if err != nil || d.Refusal == nil || d.Refusal.Quota.UpgradeURL != "https://example.com/plans" {
		t.Errorf("the second call: %+v, %v", d, err)
	}
	rt.Env = boot.Map(map[string]string{boot.KeyCacheSeconds: "soon"})
	if _, err := GrantsFromEnv(rt, db, keys); err == nil || !strings.Contains(err.Error(), boot.KeyCacheSeconds) {
		t.Errorf("a time that can't be read: %v", err)
	}
}

// TestLogRefund: a line names the operation, not the code of its counter; one whose operation is gone has
// the code.
func TestLogRefund(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.InfoLevel)
	r := usage.Refund{Meter: "key_a", Calls: []usage.FailedCall{{Operation: api.Operation("postal.lookup").Code}, {Operation: "zz"}, {}}}
	LogRefund(zap.New(core), api, r, []usage.Outcome{usage.Refunded, usage.Refunded, usage.CapReached})
	var got []string
	for _, line := range logs.All() {
		got = append(got, line.ContextMap()["operation"].(string))
	}
	if want := []string{"postal.lookup", "zz", "unknown"}; !slices.Equal(got, want) {
		t.Errorf("operations %q, want %q", got, want)
	}
}
