package statement_test

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/money/chargeback"
	"sekisho/functions/internal/money/statement"
	"sekisho/functions/internal/money/worstcase"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

var update = flag.Bool("update", false, "write the files that these tests compare with")

// hostile names, as a store may hold from before names were checked.
var hostile = []string{
	`<img src=x onerror="alert(1)">`, `"><script>alert(1)</script>`, "\u202eevil\u202c", "two\nlines\x00\x1b[31m", `{{.Policy}}`,
	"javascript:alert(1)", strings.Repeat("長い名前", 2500), "</style></bdi><b>", "שלום עולם",
}

// sample is a month with twelve before it, and more keys than a table shows.
func sample(t testing.TB) statement.Statement {
	t.Helper()
	month, err := usage.ParsePeriod("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	names := append([]string{"production", "staging", "nightly batch", "", "東京支社"}, hostile...)
	for n := range 40 {
		names = append(names, fmt.Sprintf("agent %02d", n))
	}
	prices := chargeback.Prices{Admitted: big.NewRat(13, 1e6), Failed: big.NewRat(17, 1e6), Denied: big.NewRat(9, 1e6)}
	denials := chargeback.Denials{}
	s := statement.Statement{Month: month, Billed: true}
	for back := range 13 {
		var meters []chargeback.Meter
		for i, name := range names {
			n := int64(90_000 / (i + 1) / (back + 2))
			counts := usage.Counts{Used: n - n/20, Refunded: n / 20, Denied: n / 9, Operations: map[string]usage.OperationCounts{
				"postal.lookup": {Charged: n / 2, Refunded: n / 20}, "calendar.holidays": {Charged: n - n/2},
			}}
			if back > 9 {
				counts = usage.Counts{} // not in use yet
			}
			id := fmt.Sprintf("key_%016d", i)
			meters = append(meters, chargeback.Meter{ID: id, User: []string{"sato@example.com", "suzuki", "team-data", "tanaka"}[i%4], Plan: []string{"pro", "free"}[i%2], Name: name, Counts: counts})
			if back == 0 {
				denials[chargeback.Subject{Meter: id, Operation: "postal.lookup", Why: problem.LimitExceeded}] = n / 12
				denials[chargeback.Subject{Meter: id, Operation: "postal.lookup", Why: problem.RateLimited}] = n/9 - n/12
			}
		}
		if back == 0 {
			denials[chargeback.Subject{Why: problem.Throttled}] = 4321
			s.Sheets = append(s.Sheets, chargeback.Split(meters, denials, prices, big.NewRat(1234, 100)))
			continue
		}
		s.Sheets = append(s.Sheets, chargeback.Split(meters, nil, prices, new(big.Rat)))
	}
	s.Apps = map[string][]string{"key_0000000000000000": {"Claude (claude.ai)"}, "key_0000000000000001": append([]string{"ChatGPT (chatgpt.com)"}, hostile...)}
	since := time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)
	s.Refusals = denials.Reasons()
	s.Brake = &brake.Status{On: true, State: "on", Since: &since, Why: "Alarm demo-spend-rate. " + hostile[0]}
	before := 0.31
	s.WorstCase = &worstcase.Figures{PerHour: 2.65, BeforeBrake: &before, WhileBraked: 0.4}
	s.Notes = []string{"left out 2 denied calls in the log whose keys are not in this store"}
	s.CSV = []byte("meter,user\r\nkey,=1\r\n")
	s.Made, s.Version = time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC), "1.2.3"
	s.Show = func(text string) string {
		quoted := strconv.QuoteToGraphic(text)
		return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	return s
}

func page(t testing.TB, s statement.Statement, language statement.Language) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.HTML(&out, language); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGolden(t *testing.T) {
	for _, language := range []statement.Language{statement.English, statement.Japanese} {
		path := filepath.Join("testdata", "statement."+string(language)+".html")
		got := page(t, sample(t), language)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; look at it in a browser after go test -update", path)
		}
	}
}

// TestOnlyTheTemplatesTags: whatever the names are, the page has the same tags and attributes as
// with harmless ones, so no name became one.
func TestOnlyTheTemplatesTags(t *testing.T) {
	s := sample(t)
	tags := func() string {
		return strings.Join(regexp.MustCompile(`<[a-zA-Z/!][^>]*>`).FindAllString(page(t, s, statement.English), -1), "\n")
	}
	want := tags()
	for i := range s.Sheets {
		for j := range s.Sheets[i].Rows {
			s.Sheets[i].Rows[j].Name = "harmless"
		}
	}
	s.Brake.Why = "harmless"
	if got := tags(); got != want {
		t.Error("a name changed the page's tags")
	}
	if strings.Contains(want, "<script") || strings.Contains(want, "<img") || strings.Contains(want, " on") {
		t.Error("a script, an image or a handler")
	}
}

// TestNamesAreText: each name is there as text, cut to what a table has room for, with nothing
// that turns the direction of writing.
func TestNamesAreText(t *testing.T) {
	got := page(t, sample(t), statement.English)
	for _, name := range hostile {
		shown := sample(t).Show(name)
		if r := []rune(shown); len(r) > 48 {
			shown = string(r[:47]) + "…"
		}
		if !strings.Contains(got, "<bdi>"+strings.ReplaceAll(html.EscapeString(shown), "+", "&#43;")+"</bdi>") {
			t.Errorf("%q isn't shown as text", shown)
		}
	}
	if strings.ContainsAny(got, "\u202e\x00\x1b") {
		t.Error("a control character came through")
	}
	if len(got) > 100_000 {
		t.Errorf("%d bytes", len(got))
	}
}

// TestLoadsNothing: there is nothing with an address but the CSV, which is inside.
func TestLoadsNothing(t *testing.T) {
	got := page(t, sample(t), statement.Japanese)
	for _, address := range regexp.MustCompile(`(?i)\s(?:src|href|action|srcset|data|poster)="([^"]*)"|url\(|@import`).FindAllStringSubmatch(got, -1) {
		csv, ok := strings.CutPrefix(address[1], "data:text/csv;charset=utf-8;base64,")
		text, err := base64.StdEncoding.DecodeString(html.UnescapeString(csv))
		if !ok || err != nil || string(text) != string(sample(t).CSV) {
			t.Errorf("%s", address[0])
		}
	}
	if !strings.Contains(got, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
		t.Error("no policy")
	}
}

// TestWellFormed: every element is closed, so that no table swallows what follows.
func TestWellFormed(t *testing.T) {
	d := xml.NewDecoder(strings.NewReader(page(t, sample(t), statement.English)))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBare: an empty month, of which nothing else is known.
func TestBare(t *testing.T) {
	s := sample(t)
	s.Sheets = []chargeback.Sheet{chargeback.Split(nil, nil, chargeback.Prices{}, new(big.Rat))}
	s.Billed, s.Refusals, s.Brake, s.WorstCase = false, nil, nil, nil
	got := page(t, s, statement.English)
	for _, says := range []string{"There were no calls in this month.", "Estimated cost of all calls", ">unknown<", "--brake-function", "--ceilings"} {
		if !strings.Contains(got, says) {
			t.Errorf("%q is missing", says)
		}
	}
}

func TestBrake(t *testing.T) {
	at := time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)
	for says, status := range map[string]brake.Status{
		"is off, and no release is recorded":   {State: "off"},
		"last released on 2026-11-20 03:04:05": {State: "off", ReleasedAt: &at},
		"is on since 2026-11-20 03:04:05":      {State: "on", Since: &at, On: true},
		"is on: tools are stopped":             {State: "on", On: true},
		"and was released by other means":      {State: brake.ReleasedElsewhere, Since: &at},
	} {
		s := sample(t)
		s.Brake = &status
		if !strings.Contains(page(t, s, statement.English), says) {
			t.Errorf("%+v: not %q", status, says)
		}
	}
}
