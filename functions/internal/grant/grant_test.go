package grant

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/opaque"
)

var start = time.Date(2026, time.November, 30, 23, 59, 0, 0, time.UTC)

const hour = time.Hour

// TestTokensOfEarlierReleasesWork: digits, check digits, hash and ID are as they were when tokens
// were issued and stored. Computed with Python's zlib, hashlib, hmac and base64.
func TestTokensOfEarlierReleasesWork(t *testing.T) {
	block := make([]byte, 64)
	for i := range block {
		block[i] = byte(i)
	}
	refresh, err := newToken(bytes.NewReader(block), Refresh, "")
	if err != nil {
		t.Fatal(err)
	}
	next, err := refresh.successor([]byte("salt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, got, want string }{
		{"text", refresh.Reveal(), "sekisho_rt_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh0U0Hb7"},
		{"hash", refresh.Hash().String(), "1e25ca79e5c87250ad05af289d7e4b685a73d52c25f9436c6dc08c061a11d0f0"},
		{"grant", refresh.GrantID(), "grant_qp6amvovhwbq6ykl"},
		{"successor", next.Reveal(), "sekisho_rt_0123456789ABCDEFGHIJKL4pHrLS8Q0n7azhrAMedLiL1BLZKe"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

func newGrant(t *testing.T) (Grant, Token) {
	t.Helper()
	g, code, err := New(Request{
		KeyID: "key_a", Client: Client{ID: "https://app.example/client", Name: "App", Host: "app.example"},
		Redirect: "https://app.example/back", Challenge: "c", Resource: "https://mcp.example/mcp", Lasts: 90 * 24 * hour,
	}, start)
	if err != nil {
		t.Fatal(err)
	}
	return g, code
}

func signedIn(t *testing.T) (Grant, Token, Pair) {
	t.Helper()
	g, code := newGrant(t)
	g, pair, err := g.Redeem(code, hour, start)
	if err != nil {
		t.Fatal(err)
	}
	return g, code, pair
}

func TestTokensParse(t *testing.T) {
	g, code, pair := signedIn(t)
	for kind, token := range map[Kind]Token{Code: code, Access: pair.Access, Refresh: pair.Refresh} {
		parsed, err := Parse(token.Reveal())
		if err != nil || parsed != token || parsed.Kind() != kind || parsed.GrantID() != g.ID {
			t.Errorf("%s: %#v, %v", kind, parsed, err)
		}
		if _, err := apikey.Parse(token.Reveal()); err == nil {
			t.Errorf("%s is an API key too", kind)
		}
		for _, format := range []string{"%s", "%v", "%+v", "%#v", "%q"} {
			if out := fmt.Sprintf(format, token); strings.Contains(out, token.family) {
				t.Errorf("%s prints the token: %s", format, out)
			}
		}
		for _, typo := range []string{"", token.Reveal()[1:], token.Reveal() + "0", strings.ToUpper(token.Reveal()), strings.Replace(token.Reveal(), string(kind), "xx", 1)} {
			if _, err := Parse(typo); !errors.Is(err, ErrMalformed) {
				t.Errorf("Parse(%q) = %v", typo, err)
			}
		}
	}
}

func TestACodeIsRedeemedOnce(t *testing.T) {
	g, code := newGrant(t)
	if g.SignedIn(start) || !g.Live(start) {
		t.Fatal("a grant whose code was not redeemed: live, but nobody is signed in")
	}
	if same, _, err := g.Redeem(code, hour, start.Add(CodeLasts)); !errors.Is(err, ErrExpired) || !same.EndedAt.IsZero() {
		t.Fatalf("an old code: %v", err)
	}
	other, _ := code.sibling(Code)
	if same, _, err := g.Redeem(other, hour, start); !errors.Is(err, ErrNotFound) || !same.EndedAt.IsZero() {
		t.Fatalf("another code of the family: %v", err)
	}
	_, stranger := newGrant(t)
	if _, _, err := g.Redeem(stranger, hour, start); !errors.Is(err, ErrNotFound) {
		t.Fatalf("another grant's code: %v", err)
	}
	g, pair, err := g.Redeem(code, hour, start.Add(CodeLasts-time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	now := start.Add(CodeLasts)
	if err := g.Check(pair.Access, now); err != nil || !g.SignedIn(now) {
		t.Fatalf("signed in: %v", err)
	}
	ended, _, err := g.Redeem(code, hour, now)
	if !errors.Is(err, ErrReused) || ended.Live(now) || !errors.Is(ended.Check(pair.Access, now), ErrEnded) {
		t.Errorf("a code used twice: %v, live %v", err, ended.Live(now))
	}
	if again, _, err := ended.Redeem(code, hour, now.Add(hour)); !errors.Is(err, ErrEnded) || !again.EndedAt.Equal(ended.EndedAt) {
		t.Errorf("and thrice: %v", err)
	}
}

func TestAccessTokens(t *testing.T) {
	g, code, pair := signedIn(t)
	_, _, stranger := signedIn(t)
	for _, c := range []struct {
		name  string
		token Token
		after time.Duration
		want  error
	}{
		{"at once", pair.Access, 0, nil},
		{"just before its end", pair.Access, hour - time.Millisecond, nil},
		{"at its end", pair.Access, hour, ErrExpired},
		{"after the grant's", pair.Access, 90 * 24 * hour, ErrEnded},
		{"a refresh token", pair.Refresh, 0, ErrNotFound},
		{"a code", code, 0, ErrNotFound},
		{"nothing", Token{}, 0, ErrNotFound},
		{"a refresh token, after the grant's end", pair.Refresh, 90 * 24 * hour, ErrNotFound},
		{"another grant's, after this one's end", stranger.Access, 90 * 24 * hour, ErrNotFound},
	} {
		if err := g.Check(c.token, start.Add(c.after)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	forged, _ := pair.Access.sibling(Access)
	if err := g.Check(forged, start); !errors.Is(err, ErrNotFound) {
		t.Errorf("a token made of another's family: %v", err)
	}
	late := start.Add(90*24*hour - time.Minute)
	if _, pair, err := g.Rotate(pair.Refresh, hour, late); err != nil || !pair.ExpiresAt.Equal(g.ExpiresAt) {
		t.Errorf("a token outlives its grant until %s, %v", pair.ExpiresAt, err)
	}
}

func TestRotation(t *testing.T) {
	g, _, first := signedIn(t)
	now := start.Add(hour)
	g, second, err := g.Rotate(first.Refresh, hour, now)
	if err != nil || second.Refresh == first.Refresh || g.Check(second.Access, now) != nil || !g.UsedAt.Equal(now) {
		t.Fatalf("%+v, %v", second, err)
	}
	for at, want := range map[time.Time]error{now.Add(-time.Millisecond): nil, now: ErrExpired} {
		if err := g.Check(first.Access, at); !errors.Is(err, want) {
			t.Errorf("the access token before, at %s: %v, want %v", at, err, want)
		}
	}

	_, _, stranger := signedIn(t)
	for name, token := range map[string]Token{"another grant's": stranger.Refresh, "an access token": second.Access} {
		if same, _, err := g.Rotate(token, hour, now); !errors.Is(err, ErrNotFound) || !same.Live(now) {
			t.Errorf("%s: %v, the grant lives on: %t; want it refused, and the grant as it was", name, err, same.Live(now))
		}
	}

	again, repeated, err := g.Rotate(first.Refresh, hour, now.Add(Leeway-time.Millisecond))
	if err != nil || repeated.Refresh != second.Refresh || repeated.Access == second.Access {
		t.Fatalf("within the leeway: %v; want the same refresh token and another access token", err)
	}
	for _, access := range []Token{second.Access, repeated.Access} {
		if err := again.Check(access, now); err != nil {
			t.Error(err)
		}
	}
	if _, third, err := again.Rotate(second.Refresh, hour, now.Add(hour)); err != nil || third.Refresh == second.Refresh {
		t.Errorf("after a repetition: %v", err)
	}

	ended, _, err := again.Rotate(first.Refresh, hour, now.Add(Leeway))
	if !errors.Is(err, ErrReused) || ended.Live(now.Add(Leeway)) {
		t.Errorf("after the leeway: %v", err)
	}
	if _, _, err := ended.Rotate(second.Refresh, hour, now.Add(Leeway)); !errors.Is(err, ErrEnded) {
		t.Errorf("the current token of a grant that ended: %v", err)
	}

	third, _, err := again.Rotate(second.Refresh, hour, now.Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(third.Rotated.Salt, again.Rotated.Salt) {
		t.Errorf("two rotations share the salt %x", third.Rotated.Salt)
	}
	if _, _, err := third.Rotate(first.Refresh, hour, now.Add(2*time.Second)); !errors.Is(err, ErrReused) {
		t.Errorf("the token before the one before, within ten seconds: %v", err)
	}
}

// TestSuccessorsNeedSaltAndToken: neither an old token alone nor what is stored alone is enough to
// compute the current one.
func TestSuccessorsNeedSaltAndToken(t *testing.T) {
	_, _, pair := signedIn(t)
	other, _ := pair.Refresh.sibling(Refresh)
	var made []string
	for _, from := range []Token{pair.Refresh, other} {
		for _, salt := range []string{"", "a", "b"} {
			next, err := from.successor([]byte(salt))
			if err != nil || next.GrantID() != pair.Refresh.GrantID() {
				t.Fatal(next, err)
			}
			made = append(made, next.Reveal())
		}
	}
	slices.Sort(made)
	if n := len(slices.Compact(made)); n != 6 {
		t.Errorf("%d successors of two tokens and three salts, want 6", n)
	}
}

// TestAccessTokensOfAGrantAreFew: a host that refreshes in a loop doesn't make the record grow.
func TestAccessTokensOfAGrantAreFew(t *testing.T) {
	g, _, pair := signedIn(t)
	for range 3 * maxAccess {
		var err error
		if g, pair, err = g.Rotate(pair.Refresh, hour, start); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.Access) != maxAccess || g.Check(pair.Access, start) != nil {
		t.Errorf("%d access tokens, want %d, the newest among them", len(g.Access), maxAccess)
	}
}

func TestClientsAsText(t *testing.T) {
	for want, c := range map[string]Client{
		"App (app.example)": {ID: "id", Name: "App", Host: "app.example"}, "App": {ID: "id", Name: "App"},
		"app.example": {ID: "id", Host: "app.example"}, "id": {ID: "id"},
	} {
		if got := c.String(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

func TestAChangeLeavesTheOriginal(t *testing.T) {
	g, _, pair := signedIn(t)
	before := g
	before.Access = slices.Clone(g.Access)
	if _, _, err := g.Rotate(pair.Refresh, hour, start); err != nil {
		t.Fatal(err)
	}
	g.End(start)
	if !same(g, before) {
		t.Errorf("%+v, want %+v", g, before)
	}
}

// oneGrant is a store of one grant, whose calls end as they are told to.
type oneGrant struct {
	Store
	grant     Grant
	read, put error
	puts      int
}

func (s *oneGrant) Grant(context.Context, string) (Grant, error) { return s.grant, s.read }

func (s *oneGrant) Put(context.Context, Grant) error {
	s.puts++
	return s.put
}

// TestChange: what was refused stays refused, whether or not something is stored.
func TestChange(t *testing.T) {
	g, _ := newGrant(t)
	down := errors.New("down")
	as := func(g Grant, err error) func(Grant) (Grant, error) {
		return func(Grant) (Grant, error) { return g, err }
	}
	for _, c := range []struct {
		name      string
		read, put error
		change    func(Grant) (Grant, error)
		want      error
		puts      int
		version   int64
	}{
		{"stored", nil, nil, as(g.End(start), nil), nil, 1, 1},
		{"refused and stored", nil, nil, as(g.End(start), ErrReused), ErrReused, 1, 1},
		{"refused", nil, nil, as(g, ErrExpired), ErrExpired, 0, 0},
		{"not read", down, nil, as(g.End(start), nil), down, 0, 0},
		{"not stored", nil, down, as(g.End(start), ErrReused), down, 1, 0},
	} {
		s := &oneGrant{grant: g, read: c.read, put: c.put}
		got, err := Change(t.Context(), s, g.ID, c.change)
		if !errors.Is(err, c.want) || s.puts != c.puts || got.Version != c.version {
			t.Errorf("%s: version %d, %v after %d writes; want version %d, %v after %d", c.name, got.Version, err, s.puts, c.version, c.want, c.puts)
		}
	}
}

func TestChangeGivesUp(t *testing.T) {
	g, _ := newGrant(t)
	s := &oneGrant{grant: g, put: ErrChanged} // another change always comes first
	if got, err := End(t.Context(), s, g.ID, start); !errors.Is(err, ErrChanged) || s.puts != maxChanges || got.ID != "" {
		t.Errorf("%+v, %v after %d attempts; want ErrChanged after %d", got, err, s.puts, maxChanges)
	}
	s = &oneGrant{grant: g.End(start), put: ErrChanged}
	if got, err := End(t.Context(), s, g.ID, start.Add(hour)); err != nil || s.puts != 0 || !got.EndedAt.Equal(start) {
		t.Errorf("ended at %s, %v, after %d writes; want the earlier end, and no write", got.EndedAt, err, s.puts)
	}
}

func TestEncode(t *testing.T) {
	g, _, pair := signedIn(t)
	g, _, err := g.Rotate(pair.Refresh, hour, start)
	if err != nil {
		t.Fatal(err)
	}
	g = g.End(start)
	text, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []Token{pair.Access, pair.Refresh} {
		if strings.Contains(text, token.family) {
			t.Error("the record holds a part of a token")
		}
	}
	back, err := Decode(g.ID, text, 7)
	if err != nil || back.Version != 7 || !same(back, g) || back.Check(pair.Access, start) == nil {
		t.Errorf("%+v, %v", back, err)
	}
	if zero := (opaque.Hash{}); back.Family.Equal(zero) || back.Refresh.Equal(zero) || back.EndedAt.IsZero() {
		t.Errorf("something was lost: %s", text)
	}
	if _, err := Decode("grant_x", "{", 1); err == nil || !strings.Contains(err.Error(), "grant_x") {
		t.Errorf("%v, want an error that names the grant", err)
	}
}

// TestTimesAreAsStoresKeepThem: in UTC and whole milliseconds, or a grant would differ from what was
// stored of it.
func TestTimesAreAsStoresKeepThem(t *testing.T) {
	now := start.Add(time.Nanosecond).In(time.FixedZone("JST", 9*60*60))
	g, code, err := New(Request{Lasts: 24*hour + 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	g, pair, err := g.Redeem(code, hour+1, now)
	if err != nil {
		t.Fatal(err)
	}
	if g, _, err = g.Rotate(pair.Refresh, hour+1, now); err != nil {
		t.Fatal(err)
	}
	g = g.End(now)
	for name, at := range map[string]time.Time{
		"created": g.CreatedAt, "expires": g.ExpiresAt, "redeemed": g.RedeemedAt, "used": g.UsedAt,
		"rotated": g.Rotated.At, "access": g.Access[0].ExpiresAt, "ended": g.EndedAt,
	} {
		if at != tidy(at) {
			t.Errorf("%s: %s", name, at.Format(time.RFC3339Nano))
		}
	}
}

func TestASourceThatEnds(t *testing.T) {
	if token, err := newToken(bytes.NewReader(nil), Code, ""); err == nil {
		t.Errorf("%q was made of nothing", token.Reveal())
	}
}

func FuzzParse(f *testing.F) {
	code, err := newToken(bytes.NewReader(make([]byte, 64)), Code, "")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(code.Reveal())
	f.Add("sekisho_rt_")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := Parse(text)
		if err == nil && token.Reveal() != text || err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatalf("Parse(%q) = %q, %v", text, token.Reveal(), err)
		}
	})
}
