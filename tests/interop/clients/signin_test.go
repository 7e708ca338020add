//go:build interop

package clients

import (
	"context"
	"encoding/json"
	"testing"
)

// signInSteps lead from a client that has nothing but an address, by a person who signs in, to an
// operator who ends that, and the person signs in again.
var signInSteps = []step{
	{"sign in", (*trial).signsIn},
	{"list", (*trial).lists},
	{"call", (*trial).calls},
	{"quota used up", (*trial).usedUp},
	{"grant ended", (*trial).grantEnded},
}

// TestSignIn: clients that know OAuth sign in at a door of its own, in a real browser.
func TestSignIn(t *testing.T) {
	if !*oauth {
		t.Skip("there is no OAuth door: give -oauth")
	}
	service := up(t)
	report := newReport()
	var trials []*trial
	var rows []row
	for _, r := range shared.rows {
		if r.signsIn {
			rows = append(rows, r)
			trials = append(trials, &trial{row: r, service: service, report: report})
		}
	}
	each(t, "steps", trials, func(r *trial, t *testing.T) {
		r.key, r.keyID = service.newKey(t, tiny)
		r.person = newPerson(t, r.key)
		var err error
		if r.client, err = r.start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer r.client.close()
		for _, s := range signInSteps {
			if r.take(s, t.Context(), t); t.Failed() {
				return // each step is of use only after the one before
			}
		}
	})
	if len(report.cells) < len(rows) && !t.Failed() {
		t.Logf("%d of %d clients ran: testdata is not compared", len(report.cells), len(rows))
		return
	}
	columns := []string{}
	for _, s := range signInSteps {
		columns = append(columns, s.name)
	}
	compareTo(t, "signin.md", signInTitle+report.table(rows, columns))
}

const signInTitle = "# Signing in at the OAuth door, in a browser\n\n" +
	"Written by the test with `-update`. The step \"sign in\" has what the client calls itself on the page that asks for the key.\n\n"

// signsIn: the client has nothing but the address. It returns what the program calls itself on the page that the person sees.
func (r *trial) signsIn(ctx context.Context, t *testing.T) string {
	s, err := r.client.connect(ctx, endpoint{url: r.service.OAuthURL, browser: r.person.program})
	if err != nil {
		t.Fatal(err)
	}
	asked := r.person.signIns()
	if s.Name != "sekisho" || s.Protocol != r.protocol || len(asked) != 1 {
		t.Fatalf("connected to %+v; want protocol %s; asked for the key by %q", s, r.protocol, asked)
	}
	return asked[0]
}

// usedUp: without quota a client is not asked to sign in again.
func (r *trial) usedUp(ctx context.Context, t *testing.T) string {
	said, text := r.fails(ctx, t, "postal_lookup", map[string]any{"postal_code": place})
	if said.Error != "limit_exceeded" || said.Retryable || *said.Limit != 1 || len(r.person.signIns()) != 1 {
		t.Errorf("refused with %s; asked for the key by %q", text, r.person.signIns())
	}
	return "`limit_exceeded`"
}

// grantEnded: the operator signs the app out, and the next call makes the client ask again.
func (r *trial) grantEnded(ctx context.Context, t *testing.T) string {
	var grants []struct {
		ID  string `json:"grant_id"`
		Key string `json:"key_id"`
	}
	if err := json.Unmarshal(r.service.run(t, "keys", "list", "--grants", "--json"), &grants); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for _, g := range grants {
		if g.Key == r.keyID {
			r.service.run(t, "keys", "revoke", "--grant", g.ID)
			ended++
		}
	}
	if ended != 1 {
		t.Fatalf("the key has %d grants in %+v", ended, grants)
	}
	usage, err := r.client.call(ctx, "utility_get_usage", map[string]any{})
	if err != nil || usage.IsError || usage.Structured["remaining"] != 0.0 {
		t.Errorf("signed in again: %v, %+v", err, usage)
	}
	if asked := r.person.signIns(); len(asked) != 2 {
		t.Errorf("asked for the key by %q", asked)
	}
	return "signs in again"
}
