package convert

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"sekisho/functions/internal/tools/toolerr"
)

// eraDate matches 令和8年11月30日, 令和元年5月1日, R8.11.30, R8/11/30 and R8-11-30, after
// widths are folded; the separators are checked to be of one kind afterwards.
var eraDate = regexp.MustCompile(`^(明治|大正|昭和|平成|令和|[MTSHR])(元|\d{1,3})(年|[./-])(\d{1,2})(月|[./-])(\d{1,2})(日?)$`)

const maxEraDateBytes = 256

// parseEraDate reads a Japanese date. Full-width digits and letters, small letters,
// the one-character era names (㋿) and spaces are accepted.
func parseEraDate(text string) (time.Time, error) {
	m := matchEraDate(text)
	if m == nil {
		return time.Time{}, toolerr.Invalid("era_date",
			"era_date is %s, which is no Japanese date. Give era, year, month and day, such as 令和8年11月30日, 令和元年5月1日 or R8.11.30; the eras are 明治 (M), 大正 (T), 昭和 (S), 平成 (H), 令和 (R).", toolerr.Quote(text))
	}
	e := eraNamed(m[1])
	year, month, dom := 1, number(m[4]), number(m[6])
	if m[2] != "元" {
		year = number(m[2])
	}
	day := date(e.start.Year()+year-1, time.Month(month), dom)
	if year < 1 || int(day.Month()) != month || day.Day() != dom {
		return time.Time{}, toolerr.Invalid("era_date", "era_date is %s, a day that does not exist. Check year, month and day.", toolerr.Quote(text))
	}
	if err := inEraRange("era_date", toolerr.Quote(text), day); err != nil {
		return time.Time{}, err
	}
	if right := eraOf(day); right != e {
		return time.Time{}, toolerr.Invalid("era_date",
			"era_date is %s, but that day (%s) is not in %s (%s): it is %s, in %s (%s). Check the era with the user or send that date.",
			toolerr.Quote(text), day.Format(time.DateOnly), e.name, e.span(), spellEraDate(day), right.name, right.span())
	}
	return day, nil
}

// matchEraDate gives the parts of a Japanese date, or nil.
func matchEraDate(text string) []string {
	if len(text) > maxEraDateBytes || !utf8.ValidString(text) {
		return nil
	}
	folded := strings.ToUpper(strings.Join(strings.Fields(norm.NFKC.String(text)), ""))
	m := eraDate.FindStringSubmatch(folded)
	if m == nil {
		return nil
	}
	kanji := m[3] == "年" && m[5] == "月" && m[7] == "日"
	marks := m[3] != "年" && m[3] == m[5] && m[7] == ""
	if !kanji && !marks {
		return nil
	}
	return m
}

func eraNamed(name string) era {
	for _, e := range eras {
		if e.name == name || e.letter == name {
			return e
		}
	}
	return era{} // the pattern lets no other name pass
}

// span says when an era was, for people.
func (e era) span() string {
	from := e.start.Format(time.DateOnly)
	for i, other := range eras[:len(eras)-1] {
		if other == e {
			return from + " to " + eras[i+1].start.AddDate(0, 0, -1).Format(time.DateOnly)
		}
	}
	return "from " + from
}

// number reads the few ASCII digits that the pattern let pass.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
