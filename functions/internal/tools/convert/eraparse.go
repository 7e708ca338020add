package convert

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"sekisho/functions/internal/tools/japanese"
	"sekisho/functions/internal/tools/toolerr"
)

// The forms of a Japanese date, after foldEraDate: 令和8年11月30日, also with the Gregorian
// year after the year and the weekday at the end; R8.11.30 with one mark twice; R081130.
var (
	inWords  = regexp.MustCompile(eraName + `(元|\d{1,3})年(?:\((\d{4})年?\))?(\d{1,2})月(\d{1,2})日(?:\(([日月火水木金土])(?:曜日?)?\)|([日月火水木金土])曜日?)?$`)
	inMarks  = regexp.MustCompile(eraName + `\.?(元|\d{1,3})([./-])(\d{1,2})([./-])(\d{1,2})$`)
	inBoth   = regexp.MustCompile(`^(\d{4})年\((.+年)\)`) // 2026年(令和8年)11月30日
	inDigits = regexp.MustCompile(eraName + `(\d\d)(\d\d)(\d\d)$`)
)

// eraName: whole, by its first character, by its letter, or in Latin letters.
const eraName = `^(明治?|大正?|昭和?|平成?|令和?|[MTSHR]|MEIJI|TAISHO|SHOWA|HEISEI|REIWA)`

const maxEraDateBytes = 256

// writtenEraDate is what a Japanese date says, before anything is checked.
type writtenEraDate struct {
	era              era
	year, month, dom int
	gregorianYear    int // 0 if it says none
	weekday          string
}

// parseEraDate reads a Japanese date, in the forms that people and forms use: digits of any
// width or kanji numbers, era names whole or short, any usual mark between the numbers.
func parseEraDate(text string) (time.Time, error) {
	w, ok := readEraDate(text)
	if !ok {
		return time.Time{}, toolerr.Invalid("era_date",
			"%s is not a Japanese date. Give era, year, month and day, such as 令和8年11月30日, 令和元年5月1日 or R8.11.30; the eras are 明治 (M), 大正 (T), 昭和 (S), 平成 (H), 令和 (R). A Gregorian date goes into date.", toolerr.Quote(text))
	}
	day := date(w.era.start.Year()+w.year-1, time.Month(w.month), w.dom)
	if w.year < 1 || int(day.Month()) != w.month || day.Day() != w.dom {
		return time.Time{}, toolerr.Invalid("era_date", "%s is a day that does not exist. Check year, month and day with the user; don't send the nearest day instead.", toolerr.Quote(text))
	}
	if err := inEraRange("era_date", toolerr.Quote(text), day); err != nil {
		return time.Time{}, err
	}
	return day, w.agrees(text, day)
}

// agrees checks what a Japanese date says twice: its era, the Gregorian year, the weekday.
func (w writtenEraDate) agrees(text string, day time.Time) error {
	if right := eraOf(day); right != w.era {
		return toolerr.Invalid("era_date",
			"%s was not in %s (%s). Ask the user: if %s is meant, send %s (%s is %s); if not, the year is wrong.",
			toolerr.Quote(text), w.era.name, w.era.span(), day.Format(time.DateOnly), spellEraDate(day), right.name, right.span())
	}
	if w.gregorianYear != 0 && w.gregorianYear != day.Year() {
		return toolerr.Invalid("era_date", "%s names two years: %s%d年 is %d, not %d. Ask the user which is right, and send the date with that one only.",
			toolerr.Quote(text), w.era.name, w.year, day.Year(), w.gregorianYear)
	}
	if right := []rune("日月火水木金土")[day.Weekday()]; w.weekday != "" && w.weekday != string(right) {
		return toolerr.Invalid("era_date", "%s is not a %s曜日: that day is a %c曜日. Ask the user which is right, and send the date without a weekday.",
			toolerr.Quote(text), w.weekday, right)
	}
	return nil
}

// readEraDate gives what a Japanese date says, if it is one.
func readEraDate(text string) (writtenEraDate, bool) {
	if len(text) > maxEraDateBytes || !utf8.ValidString(text) {
		return writtenEraDate{}, false
	}
	folded := inBoth.ReplaceAllString(foldEraDate(text), "$2($1)")
	if m := inWords.FindStringSubmatch(folded); m != nil {
		return writtenEraDate{eraNamed(m[1]), number(m[2]), number(m[4]), number(m[5]), number(m[3]), m[6] + m[7]}, true
	}
	if m := inMarks.FindStringSubmatch(folded); m != nil && m[3] == m[5] {
		return writtenEraDate{era: eraNamed(m[1]), year: number(m[2]), month: number(m[4]), dom: number(m[6])}, true
	}
	if m := inDigits.FindStringSubmatch(folded); m != nil {
		return writtenEraDate{era: eraNamed(m[1]), year: number(m[2]), month: number(m[3]), dom: number(m[4])}, true
	}
	return writtenEraDate{}, false
}

// formalDigits are the kanji that documents use for digits against forgery.
var formalDigits = strings.NewReplacer("壱", "一", "壹", "一", "弐", "二", "貳", "二", "参", "三", "參", "三", "拾", "十", "Ō", "O")

// foldEraDate brings a date into one form: widths, kanji numbers, marks and letters. Spaces
// and zero-width characters go, but those between two numbers are a mark.
func foldEraDate(text string) string {
	folded := formalDigits.Replace(strings.ToUpper(japanese.NumbersApart(norm.NFKC.String(text))))
	return japanese.NumbersAsDigits(strings.Map(func(r rune) rune {
		switch {
		case japanese.IsHyphen(r):
			return '-'
		case japanese.IsBlank(r):
			return -1
		case strings.ContainsRune("・･,、·．", r):
			return '.'
		}
		return r
	}, folded))
}

// eraNamed finds an era by a name that the patterns let pass.
func eraNamed(name string) era {
	for _, e := range eras {
		if name == e.letter || strings.HasPrefix(e.name, name) || strings.EqualFold(e.romaji, name) {
			return e
		}
	}
	return era{}
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

// number reads what the patterns let pass: a few ASCII digits, 元 for 1, or nothing for 0.
func number(digits string) int {
	if digits == "元" {
		return 1
	}
	n, _ := strconv.Atoi(digits)
	return n
}
