package cost_test

import (
	"fmt"
	"maps"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/money/cost"
)

// A sign-in is five requests by the protocol: metadata of the resource and of the server, the page, the
// consent and the token. Renewing a token is one.
var requestsOf = map[cost.Visit]int64{cost.SignIn: 5, cost.Refresh: 1}

// Bytes of a request to the function, which isn't measured here: a line of its log, and an answer. The
// page is the longest.
const signInLine, signInAnswer = 250, 2500

// signIns measures what the store is asked for while n people sign in, each with a key that no instance
// has in memory, and while the tokens that they got are renewed.
func (w *world) signIns(n int) map[cost.Visit]cost.Counts {
	w.t.Helper()
	keys := account.NewAuthenticator(w.store.Accounts(), w.now, account.DefaultKeyCache)
	refresh := map[string]grant.Token{}
	exchange := func(id string, tokens func(grant.Grant) (grant.Grant, grant.Pair, error)) {
		_, err := grant.Change(w.t.Context(), w.store.Grants(), id, func(g grant.Grant) (grant.Grant, error) {
			changed, pair, err := tokens(g)
			refresh[id] = pair.Refresh
			return changed, err
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	user := 0
	signIn := func() {
		user++
		secret, key := w.newKey(plentiful, fmt.Sprintf("signs-in-%d", user))
		if _, err := keys.Authenticate(w.t.Context(), secret, "203.0.113.7"); err != nil {
			w.t.Fatal(err)
		}
		g, code, err := grant.New(w.signsIn(key), w.now())
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.store.Grants().Create(w.t.Context(), g); err != nil {
			w.t.Fatal(err)
		}
		exchange(g.ID, func(g grant.Grant) (grant.Grant, grant.Pair, error) { return g.Redeem(code, time.Hour, w.now()) })
	}
	counts := map[cost.Visit]cost.Counts{cost.SignIn: w.count(n, false, func() int64 { signIn(); return 0 })}
	renewed := maps.Clone(refresh)
	next := func() (id string) {
		for id = range renewed {
			break
		}
		delete(renewed, id)
		return id
	}
	counts[cost.Refresh] = w.count(n, false, func() int64 {
		id := next()
		exchange(id, func(g grant.Grant) (grant.Grant, grant.Pair, error) { return g.Rotate(refresh[id], time.Hour, w.now()) })
		return 0
	})
	for visit, c := range counts {
		requests := requestsOf[visit] * int64(n)
		c.HTTPRequests, c.Invocations[cost.SignInFunction] = requests, requests
		c.FunctionLogBytes, c.AnswerBytes = requests*signInLine, requests*signInAnswer
		counts[visit] = c
	}
	return counts
}
