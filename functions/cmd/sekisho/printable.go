package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// printable writes what a terminal would act on, or show as something else, the way Go writes it
// in a string: escape sequences, line breaks, tabs, characters of no width or that turn the
// direction of writing, and bytes that are no UTF-8. Names, users and reasons are other people's
// texts, and stores may hold some from before names were checked.
func printable(text string) string { return escape(text, "") }

// escape is printable but for the characters in keep.
func escape(text, keep string) string {
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		broken := r == utf8.RuneError && size == 1
		if !broken && (unicode.IsGraphic(r) || strings.ContainsRune(keep, r)) {
			b.WriteString(text[:size])
		} else {
			quoted := strconv.QuoteToGraphic(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

// writeTable writes a table for people, each row on one line whatever is in its cells.
func writeTable(w io.Writer, header []string, rows [][]string) error {
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// terminal escapes all that is written, except for the layout of lines, so that no text reaches
// a terminal as a command, wherever it came from. JSON stays JSON: there control characters are
// escaped already, and the rest is written as \u, as JSON has it.
type terminal struct {
	to io.Writer

	mu sync.Mutex
	// part is the start of a character whose end is in the next write.
	part []byte
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := append(t.part, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	t.part = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(t.to, escape(string(text[:end]), "\n\r\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}
