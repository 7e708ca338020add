package main

import (
	"encoding/csv"
	"io"
	"strings"
)

// writeCSV writes a header and rows by RFC 4180: lines end with CR LF.
func writeCSV(w io.Writer, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(header); err != nil {
		return err
	}
	return out.WriteAll(rows)
}

// spreadsheetSafe keeps what somebody typed from becoming a formula where the file is
// opened: a text that begins like one gets an apostrophe before it, which spreadsheets do
// not show (owasp.org/www-community/attacks/CSV_Injection).
func spreadsheetSafe(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
