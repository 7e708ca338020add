package main

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
	"unicode"
)

// writeCSV writes a header and rows in the format of RFC 4180, whose lines end in CR LF. No cell
// is a formula, and none has control characters.
func writeCSV(w io.Writer, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(header); err != nil {
		return err
	}
	for _, row := range rows {
		safe := make([]string, len(row))
		for i, cell := range row {
			safe[i] = spreadsheetSafe(printable(cell))
		}
		if err := out.Write(safe); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// formulaStarts are the characters with which a spreadsheet takes a cell for a formula, by OWASP's
// list (owasp.org/www-community/attacks/CSV_Injection), and what Japanese editions take for them:
// the full-width forms and the long vowel mark, which is typed with the minus key
// (OWASP/www-community#1088). The small and raised forms and the minus sign are their Unicode
// equivalents.
const formulaStarts = "=+-@" + "＝＋－＠" + "ー" + "﹦﹢﹣﹫" + "⁼⁺⁻₌₊₋" + "−"

var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// spreadsheetSafe keeps a text from being run as a formula by whoever opens the file: one that
// starts like a formula, however many blanks come before, gets an apostrophe in front, which
// spreadsheets hide.
func spreadsheetSafe(text string) string {
	start := strings.TrimLeftFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) })
	first := strings.IndexAny(start, formulaStarts)
	control := text != "" && unicode.IsControl(rune(text[0]))
	if (first == 0 || control) && !plainNumber.MatchString(text) {
		return "'" + text
	}
	return text
}
