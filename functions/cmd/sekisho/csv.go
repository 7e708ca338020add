package main

import (
	"encoding/csv"
	"io"
	"strings"
)

// writeCSV writes a header and rows in the format of RFC 4180, whose lines end in CR LF.
func writeCSV(w io.Writer, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(header); err != nil {
		return err
	}
	return out.WriteAll(rows)
}

// spreadsheetSafe keeps user input from being run as a formula by whoever opens the file: a
// text that starts like one gets an apostrophe in front, which spreadsheets hide
// (owasp.org/www-community/attacks/CSV_Injection).
func spreadsheetSafe(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
