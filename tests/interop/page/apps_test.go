//go:build interop

package page

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const grantsPath = "/v1/user/grants"

// signedIn writes that apps signed in with a key, since that takes an authorization server. It
// returns the IDs of their grants.
func (s *site) signedIn(t *testing.T, key made, names ...string) (ids []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "sekisho.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	now := time.Now().UTC().Truncate(time.Millisecond)
	until := now.AddDate(0, 3, 0)
	for i, name := range names {
		id, hash := "grant_"+strings.Repeat(string('a'+rune(i)), 16), strings.Repeat("0", 64)
		state, err := json.Marshal(map[string]any{
			"id": id, "key": key.ID, "client": map[string]string{"id": "https://app.example/client", "name": name, "host": "app.example"},
			"family": hash, "code": hash, "created_at": now, "redeemed_at": now, "used_at": now, "expires_at": until,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), `INSERT INTO app_grant (id, key_id, created_at, until, state, version) VALUES (?, ?, ?, ?, ?, 1)`,
			id, key.ID, now.UnixMilli(), until.UnixMilli(), string(state)); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// TestApps: there is no section without apps; each that is there is signed out by its own button,
// and a failure leaves it there.
func TestApps(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := s.key(t, roomy)
	b := open(t, s)
	b.signIn(key.Key)
	b.view("connect")
	if js[bool](b, `!!document.querySelector("#apps")`) {
		t.Error("a section without apps")
	}
	ids := s.signedIn(t, key, "Assistant", "<img src=x onerror=alert(1)>\u202eevil", "")
	b.view("usage")
	b.view("connect")
	shown := func() []string {
		return js[[]string](b, `[...document.querySelectorAll("[data-grant] h3")].map((e) => e.textContent)`)
	}
	if got, want := shown(), []string{"Assistant", "<img src=x onerror=alert(1)>[U+202E]evil", "app.example"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.look(t, "connect, with apps")
	b.size(320, 700)
	b.look(t, "connect, with apps, narrow")

	b.expects(500)
	s.intercept(answerWith(grantsPath+"/"+ids[0], problemOf(500, `{"error":"internal"}`)))
	b.click(`[data-grant="` + ids[0] + `"] .end`)
	b.notice("failed")
	if n := len(shown()); n != 3 {
		t.Errorf("%d apps after a failure, want 3", n)
	}
	s.intercept(nil)
	b.click(`[data-notice="failed"] .retry`)
	b.wait("it is gone", `document.querySelectorAll("[data-grant]").length === 2`)
	b.wait("it is announced", `document.querySelector("#announcer").textContent.includes("Assistant")`)
	if at := js[string](b, `document.activeElement.textContent`); at != js[string](b, `document.querySelector("#apps h2").textContent`) {
		t.Errorf("the focus is on %q", at)
	}
	for _, id := range ids[1:] {
		b.click(`[data-grant="` + id + `"] .end`)
		b.wait("it is gone", `!document.querySelector('[data-grant="`+id+`"]')`)
	}
	b.look(t, "connect, without apps any more")
	var left struct{ Grants []any }
	if err := json.Unmarshal([]byte(s.call(t, key.Key, "GET", grantsPath, "", 200)), &left); err != nil || len(left.Grants) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
