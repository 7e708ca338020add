// Package statement writes a month for finance: one HTML file to mail and to print, which loads
// nothing and runs nothing.
package statement

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math/big"
	"time"

	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/money/chargeback"
	"sekisho/functions/internal/money/worstcase"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

// Generator marks the files that HTML writes.
const Generator = "sekisho report"

// Statement is a month with all that is known about it.
type Statement struct {
	Month usage.Period
	// Sheets has the month itself, then those before it, one after the other. All weigh calls by
	// the same prices.
	Sheets []chargeback.Sheet
	// Apps are signed in with the keys of each meter.
	Apps map[string][]string
	// Billed says whether the rows of the month have dollars of a bill.
	Billed bool
	// Refusals by their reason; nil if no log says.
	Refusals map[problem.Code]int64
	// Brake is nil if it is not known.
	Brake *brake.Status
	// WorstCase is nil if the ceilings are not known.
	WorstCase *worstcase.Figures
	// Notes are what else the reader should know, in English.
	Notes []string
	// CSV has all rows of the month.
	CSV []byte
	// Made is when the figures were read, by which version of the program.
	Made    time.Time
	Version string
	// Show makes other people's texts printable.
	Show func(string) string
}

var (
	//go:embed statement.html
	page string
	//go:embed statement.css
	style string
)

var parsed = template.Must(template.New("statement").Parse(page))

// HTML writes the statement.
func (s Statement) HTML(w io.Writer, language Language) error {
	return parsed.Execute(w, s.view(language))
}

// view is what the page shows, in texts.
type view struct {
	Words     words
	Lang      Language
	Generator string
	Policy    string
	Style     template.CSS
	Title     string
	Made      string
	Notes     []note
	Headlines []fact
	Parts     []table
	Months    months
	Refusals  []fact
	Brake     brakeView
	Worst     []fact
	CSVName   string
	CSV       template.URL
}

// note is in the language of the page or in English.
type note struct {
	Lang Language
	Text string
}

// fact is a figure with its name.
type fact struct{ Name, Value string }

func (s Statement) view(language Language) view {
	t := texts[language]
	total := s.Sheets[0].Total()
	v := view{
		Words: t, Lang: language, Generator: Generator, Style: template.CSS(style), Policy: policy(),
		Title: fmt.Sprintf(t.Title, s.Month), Made: fmt.Sprintf(t.Made, s.Made.UTC().Format("2006-01-02 15:04 UTC"), s.Version),
		Headlines: []fact{
			{t.Succeeded, decimal(total.Succeeded(), 0)}, {t.Refunded, decimal(total.Refunded, 0)}, {t.Denied, decimal(total.Denied, 0)},
		},
		Parts: s.parts(t), Months: s.months(t), Refusals: s.refusals(t), Brake: s.brakeView(t), Worst: s.worst(t),
		CSVName: "sekisho-" + s.Month.String() + ".csv",
		CSV:     template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(s.CSV)),
	}
	if s.Billed {
		v.Headlines = append([]fact{{t.Bill, decimal(total.Cents, 2) + " USD"}}, v.Headlines...)
	} else {
		v.Headlines = append([]fact{{t.Estimate, estimate(s.Sheets[0]) + " USD"}}, v.Headlines...)
	}
	if s.Made.Before(s.Month.Reset()) {
		v.Notes = append(v.Notes, note{language, t.Unfinished})
	}
	for _, text := range s.Notes {
		v.Notes = append(v.Notes, note{English, s.Show(text)})
	}
	return v
}

// policy allows the page its own style, and nothing else.
func policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// estimate is what the calls of a month cost by the prices, in cents.
func estimate(s chargeback.Sheet) string {
	cents := new(big.Rat).Mul(s.Weight, big.NewRat(100, 1))
	cents.Add(cents, big.NewRat(1, 2))
	return decimal(new(big.Int).Quo(cents.Num(), cents.Denom()).Int64(), 2)
}

// refusals are what the ceilings of the plans and of the API did.
func (s Statement) refusals(t words) []fact {
	total := s.Sheets[0].Total()
	byLog := func(why problem.Code) string {
		if s.Refusals == nil {
			return t.Unknown
		}
		return decimal(s.Refusals[why], 0)
	}
	return []fact{
		{t.AllDenied, decimal(total.Denied, 0)},
		{t.OverLimit, byLog(problem.LimitExceeded)},
		{t.OverRate, byLog(problem.RateLimited)},
		{t.Throttled, byLog(problem.Throttled)},
		{t.GivenBack, decimal(total.Refunded, 0)},
	}
}

type brakeView struct{ Says, Why string }

const instant = "2006-01-02 15:04:05 UTC"

func (s Statement) brakeView(t words) brakeView {
	b := s.Brake
	if b == nil {
		return brakeView{Says: t.BrakeUnknown}
	}
	v := brakeView{Why: s.Show(b.Why)}
	since := ""
	if b.Since != nil {
		since = b.Since.UTC().Format(instant)
	}
	switch {
	case b.State == brake.ReleasedElsewhere:
		v.Says = fmt.Sprintf(t.BrakeElsewhere, since)
	case b.State == "off" && b.ReleasedAt != nil:
		v.Says = fmt.Sprintf(t.BrakeReleased, b.ReleasedAt.UTC().Format(instant))
	case b.State == "off":
		v.Says = t.BrakeOff
	case b.Since != nil:
		v.Says = fmt.Sprintf(t.BrakeOn, since)
	default:
		v.Says = t.BrakeOnUndated
	}
	return v
}

func (s Statement) worst(t words) []fact {
	if s.WorstCase == nil {
		return nil
	}
	usd := func(v float64) string { return fmt.Sprintf("%.2f USD", v) }
	before := t.NeverBraked
	if s.WorstCase.BeforeBrake != nil {
		before = usd(*s.WorstCase.BeforeBrake)
	}
	return []fact{{t.WorstHour, usd(s.WorstCase.PerHour)}, {t.WorstBefore, before}, {t.WorstBraked, usd(s.WorstCase.WhileBraked)}}
}
