package dynamo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// inSlotOf makes an admission at a given time that uses the same slot as a, or another slot.
func inSlotOf(other usage.Admission, at time.Time, same bool) usage.Admission {
	want, _ := newCharge(other, "")
	for {
		a := admissionWith(at, other.Meter, other.Limits)
		if c, _ := newCharge(a, ""); (c.slot == want.slot) == same {
			return a
		}
	}
}

// inBubble runs a test in virtual time: nothing waits.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestAdmitUnderFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []fault
		limit  usage.Limit
		want   usage.Decision
		err    error
		used   int64
		sends  int // including takeBack
	}{
		{"no fault", nil, 5, granted(1), nil, 1, 1},
		{"answer lost", []fault{lostAnswer}, 5, unseen(1), nil, 1, 2},
		{"answer lost twice", []fault{lostAnswer, lostAnswer}, 5, unseen(1), nil, 1, 3},
		{"answer lost for the last unit", []fault{lostAnswer}, 1, unseen(1), nil, 1, 2},
		{"answer lost without a limit", []fault{lostAnswer}, usage.Unlimited, unseen(1), nil, 1, 2},
		{"request lost", []fault{lostRequest}, 5, granted(1), nil, 1, 2},
		{"request lost, then the answer", []fault{lostRequest, lostAnswer}, 5, unseen(1), nil, 1, 3},
		{"500 before it", []fault{errorBefore}, 5, granted(1), nil, 1, 2},
		{"500 after it", []fault{errorAfter}, 5, unseen(1), nil, 1, 2},
		{"500 after it for the last unit", []fault{errorAfter, errorBefore}, 1, unseen(1), nil, 1, 3},
		{"a proxy's page", []fault{page}, 5, granted(1), nil, 1, 2},
		{"no connection", []fault{refused, refused, refused}, 5, granted(1), nil, 1, 4},
		{"throttled", []fault{throttled, transactionIn}, 5, granted(1), nil, 1, 3},
		{"throttled again and again", []fault{throttled, throttled, throttled}, 5, usage.Decision{}, usage.ErrBusy, 0, 3},
		{"throttled after a lost answer", []fault{lostAnswer, throttled}, 5, unseen(1), nil, 1, 3},
		{"no answer in time", []fault{swallowed}, 5, granted(1), nil, 1, 2},
		{"throttled again and again after a lost answer", []fault{lostAnswer, throttled, throttled, throttled}, 5, usage.Decision{}, usage.ErrUnclear, 0, 5},
		{"all answers lost", []fault{lostAnswer, lostAnswer, lostAnswer}, 5, usage.Decision{}, usage.ErrUnclear, 0, 4},
		{"all answers lost, and that of the take-back", []fault{lostAnswer, lostAnswer, lostAnswer, lostAnswer}, 5, usage.Decision{}, usage.ErrUnclear, 0, 5},
		{"all answers lost, and the take-back", []fault{lostAnswer, errorAfter, lostAnswer, invalid}, 5, usage.Decision{}, usage.ErrUnclear, 1, 4},
		{"rejected after a lost answer", []fault{lostAnswer, invalid}, 5, usage.Decision{}, usage.ErrUnclear, 0, 3},
		{"all requests lost", []fault{lostRequest, lostRequest, lostRequest}, 5, usage.Decision{}, usage.ErrUnclear, 0, 4},
		{"rejected", []fault{invalid}, 5, usage.Decision{}, errAny, 0, 1},
		{"condition failed without its item after a lost answer", []fault{lostAnswer, withoutItem}, 5, unseen(1), nil, 1, 3},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			wire, s := faulty(script(c.faults...))
			d, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", c.limit))
			if d != c.want || !(errors.Is(err, c.err) || c.err == errAny && err != nil && !errors.Is(err, usage.ErrUnclear)) {
				t.Errorf("%+v, %v; want %+v, %v", d, err, c.want, c.err)
			}
			if got := len(wire.requests()); got != c.sends {
				t.Errorf("%d requests, want %d", got, c.sends)
			}
			wire.reset(nil)
			if used := usedOf(t, s, "m"); used != c.used {
				t.Errorf("used %d, want %d", used, c.used)
			}
		})
	}
}

// errAny stands for any error that means "not applied".
var errAny = errors.New("any")

// A failed condition may come without the item (aws-sdk-go-v2#2600).
func TestDenialWithoutItem(t *testing.T) {
	wire, s := faulty(nil)
	mustAdmit(t, s, admissionAt(start, "m", 3))
	full := admissionAt(start, "m", 3)
	full.Units = 3
	wire.reset(script(withoutItem))
	if d, err := s.Usage().Admit(t.Context(), full); err != nil || d.Admitted || d.Used != 1 || d.Refused != usage.Monthly {
		t.Errorf("%+v, %v; want a denial by the month, with the count that a read shows", d, err)
	}
	wire.reset(script(withoutItem, errorBefore, errorBefore, errorBefore))
	if d, err := s.Usage().Admit(t.Context(), full); !errors.Is(err, usage.ErrUnclear) {
		t.Errorf("%+v, %v; want it unclear if the read fails too", d, err)
	}
	wire.reset(script(withoutItem))
	r := refundOf(admissionAt(start, "m", 3))
	r.Calls[0].Units = 2
	if o, err := refund1(t.Context(), s, r); err != nil || o != usage.NothingCharged {
		t.Errorf("%s, %v; want %s", o, err, usage.NothingCharged)
	}
	wire.reset(script(withoutItem))
	r.Calls[0].Units, r.Cap = 1, 0
	if o, err := refund1(t.Context(), s, r); err != nil || o != usage.CapReached {
		t.Errorf("%s, %v; want %s", o, err, usage.CapReached)
	}
	wire.reset(script(withoutItem, errorBefore, errorBefore, errorBefore))
	if o, err := refund1(t.Context(), s, r); err == nil {
		t.Errorf("%s, want an error if the read fails too", o)
	}
}

func granted(used int64) usage.Decision {
	return usage.Decision{Admitted: true, State: usage.State{Used: used, Today: used}}
}

// unseen is granted by an answer that was lost.
func unseen(used int64) usage.Decision {
	d := granted(used)
	d.Unseen = true
	return d
}

func denied(used int64) usage.Decision {
	return usage.Decision{Refused: usage.Monthly, State: usage.State{Used: used, Today: used}}
}

// What others do between a lost write and its repetition.
func TestAdmitWhenOthersComeInBetween(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault fault
		limit usage.Limit
		// between is how much later the other admission was made; sameSlot, whether it used
		// the same slot.
		between  time.Duration
		sameSlot bool
		want     usage.Decision
		err      error
		used     int64
	}{
		{"the last unit goes to another", lostRequest, 1, time.Millisecond, false, denied(1), nil, 1},
		{"another slot tells nothing", lostAnswer, 5, time.Millisecond, false, granted(2), nil, 2},
		{"an older one in the slot proves that ours was lost", lostRequest, 5, -2 * time.Second, true, granted(2), nil, 2},
		{"an older one in the slot, and full", lostRequest, 1, -2 * time.Second, true, denied(1), nil, 1},
		{"a newer one in the slot hides ours", lostAnswer, 5, time.Millisecond, true, usage.Decision{}, usage.ErrUnclear, 2},
		{"a newer one in the slot hides that ours was lost", lostRequest, 5, time.Millisecond, true, usage.Decision{}, usage.ErrUnclear, 1},
		{"within the clocks' difference nothing is proved", lostRequest, 5, -500 * time.Millisecond, true, usage.Decision{}, usage.ErrUnclear, 1},
		{"a newer one in the slot, and full", lostAnswer, 2, time.Millisecond, true, usage.Decision{}, usage.ErrUnclear, 2},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			wire, s := faulty(script(c.fault))
			calm := over(wire.to)
			ours := admissionAt(start, "m", c.limit)
			wire.after = func(_ string, n int) {
				if n == 0 {
					mustAdmit(t, calm, inSlotOf(ours, start.Add(c.between), c.sameSlot))
				}
			}
			d, err := s.Usage().Admit(t.Context(), ours)
			d.Wait, d.Unseen = 0, false
			if d != c.want || !errors.Is(err, c.err) {
				t.Errorf("%+v, %v; want %+v, %v", d, err, c.want, c.err)
			}
			if sent := wire.requests(); len(sent) > 3 {
				t.Errorf("sent %q, want the write, again, and the take-back at most", sent)
			}
			if used := usedOf(t, calm, "m"); used != c.used {
				t.Errorf("used %d, want %d", used, c.used)
			}
		})
	}
}

// A write may arrive after its own retry (dynamodb-atomic-counter#4).
func TestLateWrites(t *testing.T) {
	deliver := func(t *testing.T, wire *faultyWire, want int) {
		t.Helper()
		wire.reset(nil)
		if n := wire.deliver(t); n != want {
			t.Fatalf("%d requests were late, want %d", n, want)
		}
	}
	t.Run("finds its repetition and does nothing", func(t *testing.T) {
		wire, s := faulty(script(late, late))
		mustAdmit(t, s, admissionAt(start, "m", 5))
		deliver(t, wire, 2)
		if used := usedOf(t, s, "m"); used != 1 {
			t.Errorf("used %d, want 1", used)
		}
	})
	t.Run("after the units were taken back does nothing", func(t *testing.T) {
		wire, s := faulty(script(late, lostAnswer, lostAnswer))
		if d, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", 5)); !errors.Is(err, usage.ErrUnclear) {
			t.Fatalf("%+v, %v; want it unclear", d, err)
		}
		deliver(t, wire, 1)
		if used := usedOf(t, s, "m"); used != 0 {
			t.Errorf("used %d, want 0", used)
		}
	})
	t.Run("a late take-back takes nothing twice", func(t *testing.T) {
		wire, s := faulty(script(lostAnswer, lostAnswer, lostAnswer, late))
		ours := admissionAt(start, "m", 5)
		if d, err := s.Usage().Admit(t.Context(), ours); !errors.Is(err, usage.ErrUnclear) {
			t.Fatalf("%+v, %v; want it unclear", d, err)
		}
		// Another admission's units are on the meter and could be taken, but in another slot.
		mustAdmit(t, s, inSlotOf(ours, start.Add(time.Millisecond), false))
		deliver(t, wire, 1)
		if used := usedOf(t, s, "m"); used != 1 {
			t.Errorf("used %d, want 1", used)
		}
	})
	t.Run("at worst it charges once more, within the limit", func(t *testing.T) {
		for limit, want := range map[usage.Limit]int64{5: 3, 2: 2} {
			wire, s := faulty(script(late))
			ours := admissionAt(start, "m", limit)
			mustAdmit(t, s, ours)
			mustAdmit(t, s, inSlotOf(ours, start.Add(time.Millisecond), true))
			deliver(t, wire, 1)
			if used := usedOf(t, s, "m"); used != want {
				t.Errorf("limit %s: used %d, want %d", limit, used, want)
			}
		}
	})
}

func TestStoreDownIsAnError(t *testing.T) {
	const takeBack = 3 // the SDK repeats it
	for f, want := range map[fault]struct {
		sends         int
		busy, unclear bool
	}{
		errorBefore: {maxUnclear + takeBack, false, true}, lostRequest: {maxUnclear + takeBack, false, true},
		refused: {maxSends, false, false}, throttled: {maxBusy, true, false},
	} {
		inBubble(t, fmt.Sprint(f), func(t *testing.T) {
			wire, s := faulty(func(string, int) fault { return f })
			a := admissionAt(start, "m", 5)
			d, err := s.Usage().Admit(t.Context(), a)
			if err == nil || d.Admitted || errors.Is(err, usage.ErrBusy) != want.busy || errors.Is(err, usage.ErrUnclear) != want.unclear {
				t.Errorf("Admit: %+v, %v; want busy %v, unclear %v", d, err, want.busy, want.unclear)
			}
			if n := len(wire.requests()); n != want.sends {
				t.Errorf("%d requests, want %d", n, want.sends)
			}
			if d, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", 0)); err == nil {
				t.Errorf("Admit at limit 0: %+v", d)
			}
			for _, months := range [][]usage.Period{{a.Period()}, {a.Period(), a.Period().Before(1)}} {
				if c, err := s.Usage().Counts(t.Context(), "m", months...); err == nil {
					t.Errorf("Counts of %v: %+v", months, c)
				}
			}
			if first, err := s.Usage().Once(t.Context(), "x", usage.PeriodOf(start)); err == nil || first {
				t.Errorf("Once: %v, %v", first, err)
			}
			for name, err := range map[string]error{
				"AddDenied": s.Usage().AddDenied(t.Context(), "m", usage.PeriodOf(start), 1),
				"Again":     s.Usage().Again(t.Context(), "x", usage.PeriodOf(start)),
			} {
				if err == nil {
					t.Errorf("%s succeeded", name)
				}
			}
			if o, err := refund1(t.Context(), s, refundOf(a)); err == nil {
				t.Errorf("Refund: %s", o)
			}
			if k, err := s.Accounts().Key(t.Context(), "key_a"); err == nil {
				t.Errorf("Key: %+v", k)
			}
		})
	}
}

// TestAdmitKeepsTheDeadline: one write without an answer takes half of the time at most, which leaves the
// time to take it back. With all the time in the world, none is waited for longer than an attempt.
func TestAdmitKeepsTheDeadline(t *testing.T) {
	for within, want := range map[time.Duration]time.Duration{3 * time.Second: 1500 * time.Millisecond, time.Minute: attemptTimeout} {
		inBubble(t, within.String(), func(t *testing.T) {
			wire, s := faulty(script(swallowed, invalid))
			s.Jitter = func(below time.Duration) time.Duration {
				if below != firstPause/2 {
					t.Errorf("the random part of a pause is below %s, want half of the pause", below)
				}
				return 0
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			began := time.Now()
			if d, err := s.Usage().Admit(ctx, admissionAt(start, "m", 5)); !errors.Is(err, usage.ErrUnclear) {
				t.Errorf("%+v, %v; want it unclear", d, err)
			}
			if took := time.Since(began); took != want+firstPause/2 {
				t.Errorf("it took %s, want %s and a pause", took, want)
			}
			if sent := wire.requests(); len(sent) != 3 {
				t.Errorf("sent %q, want the write, again, and the take-back", sent)
			}
		})
	}
}

// TestNoTimeForAnotherWrite: what little is left goes to the take-back.
func TestNoTimeForAnotherWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire, s := faulty(script(errorAfter))
		ctx, cancel := context.WithTimeout(t.Context(), firstPause/4)
		defer cancel()
		d, err := s.Usage().Admit(ctx, admissionAt(start, "m", 5))
		if sent := len(wire.requests()); !errors.Is(err, usage.ErrUnclear) || sent != 2 {
			t.Errorf("%+v, %v after %d requests; want it unclear after two", d, err, sent)
		}
		if used := usedOf(t, s, "m"); used != 0 {
			t.Errorf("used %d", used)
		}
	})
}

// TestAdmitForACallerWhoHasGone asks nobody.
func TestAdmitForACallerWhoHasGone(t *testing.T) {
	wire, s := faulty(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d, err := s.Usage().Admit(ctx, admissionAt(start, "m", 5)); !errors.Is(err, context.Canceled) || errors.Is(err, usage.ErrUnclear) || len(wire.requests()) > 0 {
		t.Errorf("%+v, %v after %q", d, err, wire.requests())
	}
}

// TestAdmissionsThatCannotBe: a refund goes to the day that the ID names, so no other may be charged.
func TestAdmissionsThatCannotBe(t *testing.T) {
	wire, s := faulty(nil)
	for name, id := range map[string]string{"malformed": "adm_x", "of another day": usage.NewAdmissionID(start.Add(-24 * time.Hour))} {
		a := admissionAt(start, "m", 5)
		a.ID = id
		if d, err := s.Usage().Admit(t.Context(), a); err == nil || !strings.Contains(err.Error(), id) || len(wire.requests()) > 0 {
			t.Errorf("%s: %+v, %v after %q", name, d, err, wire.requests())
		}
	}
}

// TestTheMonthBeforeCannotBeRead: the first call of a month with a rate is not decided without it.
func TestTheMonthBeforeCannotBeRead(t *testing.T) {
	wire, s := faulty(script(none, errorBefore, errorBefore, errorBefore))
	limits := usage.Limits{Monthly: 5, Daily: 5, Rate: ratelimit.Limit{PerSecond: 1, Burst: 2}}
	if d, err := s.Usage().Admit(t.Context(), admissionWith(start, "m", limits)); err == nil || errors.Is(err, usage.ErrUnclear) {
		t.Errorf("%+v, %v; want the read's error", d, err)
	}
	wire.reset(nil)
	if used := usedOf(t, s, "m"); used != 0 {
		t.Errorf("used %d", used)
	}
}

// TestAMeterThatOthersKeepChanging is not asked for ever, and nothing is unclear.
func TestAMeterThatOthersKeepChanging(t *testing.T) {
	state := func(after time.Duration) string {
		return fmt.Sprintf(`,"Item":{"tat":{"N":"%d"}}`, start.Add(after).UnixNano())
	}
	wire := &answers{status: 400, code: "ConditionalCheckFailedException"}
	for range maxSends {
		wire.member = append(wire.member, state(time.Hour), state(-time.Hour))
	}
	limits := usage.Limits{Monthly: 5, Daily: 5, Rate: ratelimit.Limit{PerSecond: 1, Burst: 10_000}}
	d, err := over(wire).Usage().Admit(t.Context(), admissionWith(start, "m", limits))
	if err == nil || d.Admitted || errors.Is(err, usage.ErrUnclear) || errors.Is(err, usage.ErrBusy) || wire.sent != maxSends {
		t.Errorf("%+v, %v after %d writes", d, err, wire.sent)
	}
}

// TestFullAtTheVeryInstant: a bucket whose time has come is full, whatever the instance remembers.
func TestFullAtTheVeryInstant(t *testing.T) {
	s, wire := overDouble()
	limits := usage.Limits{Monthly: 5, Daily: 5, Rate: ratelimit.Limit{PerSecond: 1, Burst: 1}}
	mustAdmit(t, s, admissionWith(start, "m", limits))
	s.seen.note("m", start.Add(time.Hour).UnixNano(), 0)
	wire.sent = 0
	mustAdmit(t, s, admissionWith(start.Add(time.Second), "m", limits))
	if wire.sent != 2 {
		t.Errorf("%d writes, want one that took it for in use and one that did not", wire.sent)
	}
}

// TestAnswersThatMakeNoSense admit nobody, and deny nobody without saying so.
func TestAnswersThatMakeNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		wire answers
		want error
		sent int
	}{
		"applied, and no count":              {answers{200, "", []string{""}, 0}, nil, 1},
		"a condition that can't have failed": {answers{400, "ConditionalCheckFailedException", []string{`,"Item":{"used":{"N":"1"}}`}, 0}, usage.ErrUnclear, 2},
	} {
		d, err := over(&c.wire).Usage().Admit(t.Context(), admissionAt(start, "m", 5))
		if err == nil || d != (usage.Decision{}) || c.want != nil && !errors.Is(err, c.want) || c.wire.sent != c.sent {
			t.Errorf("%s: %+v, %v after %d requests", name, d, err, c.wire.sent)
		}
	}
}

// TestTakeBackWithoutACode leaves no trace of an operation.
func TestTakeBackWithoutACode(t *testing.T) {
	wire, s := faulty(script(lostAnswer, lostAnswer, lostAnswer))
	a := admissionAt(start, "m", 5)
	a.Operation = ""
	if d, err := s.Usage().Admit(t.Context(), a); !errors.Is(err, usage.ErrUnclear) {
		t.Errorf("%+v, %v; want it unclear", d, err)
	}
	wire.reset(nil)
	if used := usedOf(t, s, "m"); used != 0 {
		t.Errorf("used %d", used)
	}
}

func TestRefundUnderFaults(t *testing.T) {
	for _, f := range []fault{lostAnswer, lostRequest, errorBefore, errorAfter, refused, throttled, conflict} {
		wire, s := faulty(nil)
		a := admissionAt(start, "m", 5)
		mustAdmit(t, s, a)
		mustAdmit(t, s, admissionAt(start, "m", 5))
		wire.reset(script(f))
		o, err := refund1(t.Context(), s, refundOf(a))
		if err != nil || o != usage.Refunded && o != usage.AlreadyRefunded {
			t.Errorf("fault %d: %s, %v", f, o, err)
		}
		wire.reset(nil)
		if used := usedOf(t, s, "m"); used != 1 {
			t.Errorf("fault %d: used %d, want 1", f, used)
		}
	}
}

// TestRefundsThatMakeNoSense are errors, and repeated where a repetition may help.
func TestRefundsThatMakeNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		reasons string
		sent    int
	}{
		"fewer reasons than writes":          {`{"Code":"ConditionalCheckFailed"}`, 1},
		"neither a condition nor a conflict": {`{"Code":"None"},{"Code":"ItemCollectionSizeLimitExceeded"}`, 1},
		"a condition that can't have failed": {`{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"used":{"N":"1"},"d30":{"N":"1"}}}`, 1},
		"a conflict that does not end":       {`{"Code":"None"},{"Code":"TransactionConflict"}`, maxTransacts},
	} {
		inBubble(t, name, func(t *testing.T) {
			wire := &answers{400, "TransactionCanceledException", []string{`,"CancellationReasons":[` + c.reasons + `]`}, 0}
			if o, err := refund1(t.Context(), over(wire), refundOf(admissionAt(start, "m", 5))); err == nil || wire.sent != c.sent {
				t.Errorf("%s, %v after %d requests, want an error after %d", o, err, wire.sent, c.sent)
			}
		})
	}
}

// TestAUserThatCouldNotBeCreated, for another reason than that it exists.
func TestAUserThatCouldNotBeCreated(t *testing.T) {
	wire := &answers{400, "TransactionCanceledException", []string{`,"CancellationReasons":[{"Code":"ItemCollectionSizeLimitExceeded"}]`}, 0}
	err := over(wire).Accounts().CreateUser(t.Context(), account.User{ID: "ada", Plan: "free", CreatedAt: start})
	if err == nil || errors.Is(err, account.ErrExists) {
		t.Errorf("%v", err)
	}
}

// storm makes three requests in ten fail at random. The seed is fixed, but which request
// meets which fault still depends on the order in which they arrive.
func storm(seed uint64, kinds ...fault) func(string, int) fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string, int) fault {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(10) < 7 {
			return none
		}
		return kinds[random.IntN(len(kinds))]
	}
}

func TestStormOfAdmissions(t *testing.T) {
	const attempted, limit, workers = 300, 120, 12
	for name, kinds := range map[string][]fault{
		"each attempt arrives at once or never": {lostRequest, lostAnswer, errorBefore, errorAfter, refused, throttled, transactionIn, withoutItem},
		"some arrive late":                      {lostRequest, lostAnswer, errorAfter, late, late, throttled, withoutItem},
	} {
		t.Run(name, func(t *testing.T) {
			wire, s := faulty(storm(42, kinds...))
			var admitted, denied, failed, next atomic.Int64
			var done sync.WaitGroup
			for range workers {
				done.Go(func() {
					for i := next.Add(1); i <= attempted; i = next.Add(1) {
						// All within clockSkew, so no ID counts as older.
						a := admissionAt(start.Add(time.Duration(i)*time.Millisecond), "m", limit)
						switch d, err := s.Usage().Admit(t.Context(), a); {
						case err != nil && d.Admitted:
							t.Error("admitted with an error")
						case err != nil:
							failed.Add(1)
						case d.Admitted:
							admitted.Add(1)
						default:
							denied.Add(1)
						}
						if i%10 == 0 {
							wire.deliver(t)
						}
					}
				})
			}
			done.Wait()
			wire.reset(nil)
			wire.deliver(t)
			used := usedOf(t, s, "m")
			t.Logf("%d admitted, %d denied, %d failed, %d charged", admitted.Load(), denied.Load(), failed.Load(), used)
			if admitted.Load() > used || used > limit {
				t.Errorf("%d admitted, %d charged, limit %d: want them in this order", admitted.Load(), used, limit)
			}
			if slices.Contains(kinds, late) {
				return // a late write may charge one unit more; see TestLateWrites
			}
			if used > admitted.Load()+failed.Load() {
				t.Errorf("%d charged for %d admitted and %d failed: something was charged twice", used, admitted.Load(), failed.Load())
			}
		})
	}
}

// Below the limit only faults matter: every charged call was either admitted or failed.
func TestStormNeverChargesTwice(t *testing.T) { synctest.Test(t, stormNeverChargesTwice) }

func stormNeverChargesTwice(t *testing.T) {
	wire, s := faulty(storm(7, lostAnswer, errorAfter))
	var admitted, failed int64
	for i := range 100 {
		d, err := s.Usage().Admit(t.Context(), admissionAt(start.Add(time.Duration(i)*time.Second), "m", 1000))
		switch {
		case err != nil:
			failed++
		case d.Admitted:
			admitted++
		default:
			t.Errorf("admission %d denied at %d", i, d.Used)
		}
	}
	wire.reset(nil)
	t.Logf("%d admitted, %d failed", admitted, failed)
	if used := usedOf(t, s, "m"); used < admitted || used > admitted+failed || admitted < 90 {
		t.Errorf("used %d, admitted %d, failed %d", used, admitted, failed)
	}
}

func TestStormOfRefunds(t *testing.T) {
	wire, s := faulty(nil)
	var failed []usage.Admission
	for range 40 {
		a := admissionAt(start, "m", usage.Unlimited)
		mustAdmit(t, s, a)
		failed = append(failed, a)
	}
	mustAdmit(t, s, admissionAt(start, "m", usage.Unlimited))
	wire.reset(storm(3, lostRequest, lostAnswer, errorBefore, errorAfter, late, throttled, conflict))
	var done sync.WaitGroup
	for w := range 8 {
		done.Go(func() {
			for _, a := range failed[w*5 : w*5+5] {
				for range 2 { // every record is delivered twice
					for try := 0; ; try++ {
						_, err := refund1(t.Context(), s, refundOf(a))
						if err == nil {
							break
						}
						if try == 20 {
							t.Errorf("refund: %v", err)
							break
						}
					}
				}
			}
		})
	}
	done.Wait()
	wire.reset(nil)
	wire.deliver(t)
	months, err := s.Usage().Counts(t.Context(), "m", usage.PeriodOf(start))
	if err != nil || months[0].Used != 1 || months[0].Refunded != 40 {
		t.Errorf("%+v, %v; want 1 used and 40 refunded", months, err)
	}
}

// Errors end up in logs: they may contain a key's ID, but never its hash.
func TestErrorsHoldNoHash(t *testing.T) {
	h := apikey.Hash{1, 2, 3, 4, 5, 6, 7, 8, 9}
	k := account.Key{ID: h.ID(), Hash: h, Meter: h.ID(), UserID: "ada", CreatedAt: start}
	wire, s := faulty(nil)
	for _, f := range []fault{none, invalid, errorBefore, lostRequest} {
		wire.reset(func(string, int) fault { return f })
		err := s.Accounts().CreateKey(t.Context(), k) // there is no such user
		if err == nil {
			t.Fatal("no error")
		}
		for _, secret := range []string{k.Hash.String(), string(k.Hash[:]), fmt.Sprint(k.Hash[:])} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error %q holds %q", err, secret)
			}
		}
	}
}

// hotKey turns away the writes to one meter, as DynamoDB does at 1,000 a second on one item.
type hotKey struct {
	to    http.RoundTripper
	meter string
	sent  map[bool]int // by whether it is the hot one
}

func (k *hotKey) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	hot := bytes.Contains(body, []byte(meterKey(k.meter, usage.PeriodOf(start))))
	k.sent[hot]++
	if hot {
		return answer(req, 400, "ProvisionedThroughputExceededException"), nil
	}
	return k.to.RoundTrip(req)
}

// TestABusyKeyIsThrottledAlone: it is told so, left alone for a moment, and no other key feels it.
func TestABusyKeyIsThrottledAlone(t *testing.T) {
	wire := &hotKey{to: dynamotest.New(), meter: "hot", sent: map[bool]int{}}
	gate := usage.NewGate(over(wire).Usage(), func() time.Time { return start }, 3*time.Second)
	for range 20 {
		g, err := gate.Admit(t.Context(), "hot", "pl", 1, usage.PerMonth(1_000_000))
		if err != nil || g.Admitted || g.Refused != usage.Busy || g.Wait != usage.RetryBusy {
			t.Fatalf("%+v, %v; want it busy for %s", g, err, usage.RetryBusy)
		}
		if g, err := gate.Admit(t.Context(), "cold", "pl", 1, usage.PerMonth(1_000_000)); err != nil || !g.Admitted {
			t.Fatalf("another key: %+v, %v", g, err)
		}
	}
	if wire.sent[true] != maxBusy || wire.sent[false] != 20 {
		t.Errorf("%d writes to the busy key and %d to the other, want %d and 20", wire.sent[true], wire.sent[false], maxBusy)
	}
}
