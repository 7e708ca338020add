// Command gen writes the data file of package calendar from the unpacked npm
// package @holiday-jp/holiday_jp. scripts/data/regenerate.sh fetches it and calls
// this.
//
//	gen -holidayjp DIR -out holidays.txt
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	dir := flags.String("holidayjp", "", "unpacked @holiday-jp/holiday_jp (required)")
	out := flags.String("out", "", "write the data file here (required)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	source, err := os.ReadFile(filepath.Join(*dir, "lib", "holidays.js"))
	if err != nil {
		return err
	}
	days, err := parse(string(source))
	if err != nil {
		return err
	}
	days = correct(w, days)
	text, err := encode(days)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d holidays, %d bytes, sha256 %x\n", *out, len(days), len(text), sha256.Sum256([]byte(text)))
	return os.WriteFile(*out, []byte(text), 0o644)
}

// day is one holiday: date as YYYY-MM-DD, Japanese and English name.
type day struct{ date, name, english string }

var entry = regexp.MustCompile(`date: "(\d{4}-\d{2}-\d{2})",\s*week: "[^"]*",\s*week_en: "[^"]*",\s*name: "([^"]*)",\s*name_en: "([^"]*)"`)

func parse(source string) ([]day, error) {
	var days []day
	for _, m := range entry.FindAllStringSubmatch(source, -1) {
		days = append(days, day{m[1], m[2], m[3]})
	}
	if len(days) == 0 || len(days) != strings.Count(source, "date:") {
		return nil, fmt.Errorf("read %d of %d holidays: the source has another form than expected", len(days), strings.Count(source, "date:"))
	}
	return days, nil
}

// substitute is what a substitute holiday has after the name of the holiday that it is for.
const substitute = " 振替休日"

// correct mends the names that the source has wrong, and reports them: a substitute holiday
// is for the holiday on the Sunday before (祝日法 第3条第2項: the next day that is no holiday
// itself), and 体育の日 became スポーツの日 in 2020 (平成30年法律第57号).
func correct(w io.Writer, days []day) []day {
	days = slices.Clone(days)
	byDate := map[string]day{}
	for _, d := range days {
		byDate[d.date] = d
	}
	for i, d := range days {
		right := d
		right.english = strings.TrimSuffix(d.english, ".")
		if strings.HasSuffix(d.name, substitute) {
			right.name = onSunday(d.date, byDate).name + substitute
		}
		switch {
		case d.name == "スポーツの日":
			right.english = "Sports Day"
		case strings.HasPrefix(d.name, "体育の日（"):
			right.name = "体育の日"
		}
		if right != d {
			fmt.Fprintf(w, "%s: %s (%s), not %s (%s)\n", d.date, right.name, right.english, d.name, d.english)
		}
		days[i] = right
	}
	return days
}

// onSunday goes back from a date, over holidays only, to the one on a Sunday.
func onSunday(date string, byDate map[string]day) day {
	at, _ := time.Parse(time.DateOnly, date)
	for {
		at = at.AddDate(0, 0, -1)
		d, ok := byDate[at.Format(time.DateOnly)]
		if !ok || at.Weekday() == time.Sunday {
			return d
		}
	}
}

// encode writes a text that a reviewer can read: first the names, each with the
// letter that stands for it, then one line a year with MMDD and letter of each
// holiday. The same days give the same text, in whatever order.
func encode(days []day) (string, error) {
	days = slices.Clone(days)
	slices.SortFunc(days, func(a, b day) int { return strings.Compare(a.date, b.date) })
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var names, years strings.Builder
	letterOf, year := map[string]string{}, ""
	for i, d := range days {
		if i > 0 && days[i-1].date == d.date {
			return "", errors.New(d.date + " is in the source twice")
		}
		title := d.name + "\t" + d.english
		if letterOf[title] == "" {
			if len(letterOf) == len(letters) {
				return "", errors.New("more names than letters")
			}
			letterOf[title] = letters[len(letterOf) : len(letterOf)+1]
			fmt.Fprintf(&names, "%s\t%s\n", letterOf[title], title)
		}
		if d.date[:4] != year {
			year = d.date[:4]
			fmt.Fprintf(&years, "\n%s", year)
		}
		fmt.Fprintf(&years, " %s%s%s", d.date[5:7], d.date[8:10], letterOf[title])
	}
	return names.String() + years.String() + "\n", nil
}
