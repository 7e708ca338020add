package usage

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestPeriodTurnsWithTheUTCMonth(t *testing.T) {
	for _, c := range []struct{ instant, period, reset string }{
		{"2026-11-30T23:59:59.999Z", "2026-11", "2026-12-01T00:00:00.000Z"},
		{"2026-12-01T00:00:00.000Z", "2026-12", "2027-01-01T00:00:00.000Z"},
		{"2026-12-31T23:59:59.999999999Z", "2026-12", "2027-01-01T00:00:00.000Z"},
		{"2027-01-01T00:00:00Z", "2027-01", "2027-02-01T00:00:00.000Z"},
		{"2027-02-28T23:59:59.999Z", "2027-02", "2027-03-01T00:00:00.000Z"},
		{"2028-02-29T23:59:59.999Z", "2028-02", "2028-03-01T00:00:00.000Z"},
		{"2028-03-01T00:00:00Z", "2028-03", "2028-04-01T00:00:00.000Z"},
		{"2026-07-31T12:00:00Z", "2026-07", "2026-08-01T00:00:00.000Z"},
		// By UTC, whatever the clock's zone: in Tokyo it is December already.
		{"2026-12-01T08:59:59.999+09:00", "2026-11", "2026-12-01T00:00:00.000Z"},
		{"2026-11-30T19:00:00-05:00", "2026-12", "2027-01-01T00:00:00.000Z"},
	} {
		p := PeriodOf(at(t, c.instant))
		if p.String() != c.period || FormatReset(p.Reset()) != c.reset {
			t.Errorf("%s: period %s, reset %s; want %s, %s", c.instant, p, FormatReset(p.Reset()), c.period, c.reset)
		}
		back, err := ParsePeriod(p.String())
		if err != nil || back != p {
			t.Errorf("ParsePeriod(%s) = %v, %v", p, back, err)
		}
		if p.Before(1).Reset() != p.Start() {
			t.Errorf("%s: the month before does not end where it begins", p)
		}
	}
}

func TestParsePeriodRefuses(t *testing.T) {
	for _, text := range []string{"", "2026", "2026-13", "2026-1", "2026-11-30", "November", "2026-00"} {
		if p, err := ParsePeriod(text); err == nil {
			t.Errorf("ParsePeriod(%q) = %s, want an error", text, p)
		}
	}
}

func TestFreeFailureCap(t *testing.T) {
	for limit, want := range map[Limit]Limit{
		0: 100, 50: 100, 1000: 100, 1010: 101, 10_000: 1000, Unlimited: Unlimited,
	} {
		if got := limit.FreeFailureCap(); got != want {
			t.Errorf("cap of limit %s is %s, want %s", limit, got, want)
		}
	}
}

func TestRemaining(t *testing.T) {
	if left, ok := Limit(10).Remaining(12); left != 0 || !ok {
		t.Errorf("over the limit: %d, %v", left, ok)
	}
	if left, ok := Limit(10).Remaining(4); left != 6 || !ok {
		t.Errorf("within the limit: %d, %v", left, ok)
	}
	if _, ok := Unlimited.Remaining(4); ok {
		t.Error("no limit has something remaining")
	}
}

func TestAdmissionIDsOrderByTime(t *testing.T) {
	start := at(t, "2026-11-30T00:00:00Z")
	previous := ""
	for i := range 2000 {
		now := start.Add(time.Duration(i) * time.Millisecond)
		id := NewAdmissionID(now)
		if id <= previous {
			t.Fatalf("%s is not after %s", id, previous)
		}
		if got, ok := AdmissionTime(id); !ok || !got.Equal(now) {
			t.Fatalf("AdmissionTime(%s) = %s, %v", id, got, ok)
		}
		if id < AdmissionFloor(now) || id >= AdmissionFloor(now.Add(time.Millisecond)) {
			t.Fatalf("%s is not between the floors of its millisecond", id)
		}
		previous = id
	}
	if len(previous) != 24 {
		t.Errorf("an ID has %d characters, want 24", len(previous))
	}
}

func TestAdmissionIDsDiffer(t *testing.T) {
	now := at(t, "2026-11-30T00:00:00Z")
	seen := map[string]bool{}
	for range 10_000 {
		id := NewAdmissionID(now)
		if seen[id] {
			t.Fatalf("%s was made twice", id)
		}
		seen[id] = true
	}
}

func FuzzAdmissionTime(f *testing.F) {
	f.Add(NewAdmissionID(time.Unix(0, 0)))
	f.Add("adm_")
	f.Add("adm_zzzzzzzzzzzzzzzzzzzz")
	f.Add("adm_00\r000000008d\n\n\n\nfl0")
	f.Fuzz(func(t *testing.T, id string) {
		if at, ok := AdmissionTime(id); ok && id < AdmissionFloor(at) {
			t.Fatalf("%q is below the floor of its own time", id)
		}
	})
}

func TestDaysOfAMonth(t *testing.T) {
	november, err := ParsePeriod("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]string{1: "2026-11-01", 2: "2026-11-02", 30: "2026-11-30", 0: "", 31: "", -1: ""} {
		d, ok := november.Day(number)
		if ok != (want != "") || ok && d.String() != want {
			t.Errorf("day %d: %s, %t; want %q", number, d, ok, want)
		}
	}
}

func TestLimitsInWords(t *testing.T) {
	for limit, want := range map[Limit]string{Unlimited: "unlimited", 0: "0", 1000: "1000"} {
		if got := limit.String(); got != want {
			t.Errorf("%d is %q, want %q", limit, got, want)
		}
	}
	if q := (Quota{Limit: 10, Remaining: 3}); q.Used() != 7 {
		t.Errorf("%d of 10 used, 3 left", q.Used())
	}
}

// TestRefundsThatCantBe: of what no admission can have charged, nothing is given back.
func TestRefundsThatCantBe(t *testing.T) {
	november := PeriodOf(at(t, "2026-11-30T12:00:00Z"))
	good := FailedCall{AdmissionID: NewAdmissionID(at(t, "2026-11-30T23:59:59.999Z")), Units: 1}
	for name, change := range map[string]func(c *FailedCall){
		"":                 func(*FailedCall) {},
		"no admission":     func(c *FailedCall) { c.AdmissionID = "adm_1" },
		"no units":         func(c *FailedCall) { c.Units = 0 },
		"the wrong month":  func(c *FailedCall) { c.AdmissionID = NewAdmissionID(at(t, "2026-12-01T00:00:00Z")) },
		"the month before": func(c *FailedCall) { c.AdmissionID = NewAdmissionID(at(t, "2026-10-31T23:59:59.999Z")) },
	} {
		c := good
		change(&c)
		if err := (Refund{Meter: "key_a", Period: november, Calls: []FailedCall{good, c}}).Check(); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (FailedCall{AdmissionID: "adm_"}).Day(); err == nil {
		t.Error("the day of what is no admission")
	}
}

// TestAdmissionIDsAreRandom in all 48 bits after the time, and what has another digit is none.
func TestAdmissionIDsAreRandom(t *testing.T) {
	now := at(t, "2026-11-30T12:00:00Z")
	var set [12]byte
	for range 200 {
		raw, err := idEncoding.DecodeString(strings.TrimPrefix(NewAdmissionID(now), AdmissionIDPrefix))
		if err != nil {
			t.Fatal(err)
		}
		for i := range set {
			set[i] |= raw[i]
		}
	}
	if !bytes.Equal(set[6:], bytes.Repeat([]byte{0xff}, 6)) {
		t.Errorf("bits that are never set: %08b", set[6:])
	}
	id := NewAdmissionID(now)
	if _, ok := AdmissionTime(id[:len(id)-1] + "z"); ok {
		t.Error("z is taken for a digit")
	}
}

// TestHistory: this month, and back to the same one a year ago.
func TestHistory(t *testing.T) {
	months := History(time.Date(2026, time.March, 31, 0, 0, 0, 0, time.UTC))
	var got []string
	for _, p := range months {
		got = append(got, p.String())
	}
	if len(got) != 13 || got[0] != "2026-03" || got[1] != "2026-02" || got[12] != "2025-03" {
		t.Errorf("%q", got)
	}
}

// TestDecideCountsTheMonthDown, even where its days hold more than it does.
func TestDecideCountsTheMonthDown(t *testing.T) {
	at := time.Date(2026, time.November, 10, 12, 0, 0, 0, time.UTC)
	call := func() FailedCall { return FailedCall{AdmissionID: NewAdmissionID(at), Units: 2} }
	r := Refund{Period: PeriodOf(at), Cap: Unlimited, Calls: []FailedCall{call(), call()}}
	got := r.Decide(Balance{Used: 3, Days: map[Day]int64{DayOf(at): 10}})
	if got[0] != Refunded || got[1] != NothingCharged {
		t.Errorf("%v, want the first only", got)
	}
}
