package laptop_test

import (
	"encoding/json"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
)

// TestHoldersSeeAndEndTheirApps: those of their own key alone, and it costs nothing, at zero quota
// too.
func TestHoldersSeeAndEndTheirApps(t *testing.T) {
	c := newClock("2026-11-30T12:00:00.000Z")
	s := start(t, account.Plans{"none": usage.PerMonth(0)}, func(config *laptop.Config) { config.Now = c.now })
	secret, key := s.newKey("none")
	other, otherKey := s.newKey("none")
	signIn := func(k account.Key, name string) string {
		t.Helper()
		g, _, err := storetest.SignIn(t.Context(), s.stores.Grants(), grant.Request{
			KeyID: k.ID, Client: grant.Client{ID: "https://app.example/client", Name: name, Host: "app.example"}, Lasts: 90 * 24 * time.Hour,
		}, c.now())
		if err != nil {
			t.Fatal(err)
		}
		return g.ID
	}
	first := signIn(key, "First")
	c.set("2026-11-30T12:00:01.000Z")
	second, foreign := signIn(key, "Second"), signIn(otherKey, "Foreign")
	if started, _, err := grant.New(grant.Request{KeyID: key.ID, Lasts: time.Hour}, c.now()); err != nil || s.stores.Grants().Create(t.Context(), started) != nil {
		t.Fatal("a grant whose code nobody has redeemed could not be made")
	}
	wants := func(method, id, secret, want string) {
		t.Helper()
		path := "/v1/user/grants"
		if id != "" {
			path += "/" + id
		}
		a := s.call(method, path, secret, "")
		var got any
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != 200 {
			t.Fatalf("%s %s: %d %s", method, id, a.status, a.body)
		}
		if compact, _ := json.Marshal(got); string(compact) != want {
			t.Errorf("%s %s: %s, want %s", method, id, compact, want)
		}
	}
	app := func(id, name, at string) string {
		return `{"client_host":"app.example","client_name":"` + name + `","expires_at":"2027-02-28T` + at + `","grant_id":"` + id + `","last_used_at":"2026-11-30T` + at + `","signed_in_at":"2026-11-30T` + at + `"}`
	}
	both := `{"grants":[` + app(first, "First", "12:00:00.000Z") + "," + app(second, "Second", "12:00:01.000Z") + "]}"
	one := `{"grants":[` + app(second, "Second", "12:00:01.000Z") + "]}"
	wants("GET", "", secret.Reveal(), both)
	for id, status := range map[string]int{foreign: 404, "grant_aaaaaaaaaaaaaaaa": 404, "grant_x": 400} {
		if a := s.call("DELETE", "/v1/user/grants/"+id, secret.Reveal(), ""); a.status != status {
			t.Errorf("%s: %d %s, want %d", id, a.status, a.body, status)
		}
	}
	wants("DELETE", first, secret.Reveal(), one)
	wants("DELETE", first, secret.Reveal(), one)
	wants("GET", "", secret.Reveal(), one)
	if a := s.call("GET", "/v1/user/grants", "", ""); a.status != 401 {
		t.Errorf("without a key: %d %s", a.status, a.body)
	}
	wants("DELETE", foreign, other.Reveal(), `{"grants":[]}`)
}
