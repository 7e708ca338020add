package postal

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sekisho/functions/internal/tools/postal/spelling"
	"sekisho/functions/internal/tools/toolerr"
)

const (
	defaultLimit    = 20
	maxLimit        = 100
	maxAddressRunes = 100
)

// SearchRequest is the input of postal.search: exactly one of Prefix and Address.
type SearchRequest struct {
	Prefix  string `json:"prefix,omitempty"`  // the first 1 to 7 digits of a code
	Address string `json:"address,omitempty"` // a part of prefecture, city and town
	Limit   *int   `json:"limit,omitempty"`   // 1 to 100; nil is 20
	Cursor  string `json:"cursor,omitempty"`  // NextCursor of the page before
}

// SearchResponse is one page of postal.search, in order of code. NextCursor is nil
// on the last page. Note says what of the address was left out to find these, or why
// nothing was found and what to try; nil if there is nothing to say.
type SearchResponse struct {
	Results    []Place `json:"results"`
	NextCursor *string `json:"next_cursor"`
	Note       *string `json:"note"`
}

// Search finds places by the beginning of their code or by a part of their address
// in kanji or kana, in any usual spelling (see spelling.Key). An address may go on after
// the town. Nothing found is an empty page with a note, and no error.
func Search(req SearchRequest) (SearchResponse, error) {
	limit := defaultLimit
	if req.Limit != nil {
		limit = *req.Limit
	}
	if limit < 1 || limit > maxLimit {
		return SearchResponse{}, toolerr.Invalid("limit", "%d is out of range. Give 1 to %d, or leave it out for %d.", limit, maxLimit, defaultLimit)
	}
	t := data()
	rows, err := t.selection(req)
	if err != nil {
		return SearchResponse{}, err
	}
	at, err := resume(req.Cursor, rows)
	if err != nil {
		return SearchResponse{}, err
	}
	return t.page(rows, at, limit), nil
}

// selection is what a search chooses from the table: rows [from, to) that match.
type selection struct {
	key      string // what was searched for, in one normal form
	from, to int
	match    rowSet
	note     string
}

func (t *table) selection(req SearchRequest) (selection, error) {
	switch {
	case req.Prefix != "" && req.Address != "":
		return selection{}, toolerr.Invalid("address", "prefix and address were both given. Send one and leave the other out.")
	case req.Prefix != "":
		return t.byPrefix(req.Prefix)
	case req.Address != "":
		return t.byAddress(req.Address)
	}
	return selection{}, toolerr.Invalid("prefix", "Neither prefix nor address was given. Give one: prefix (the first 1 to 7 digits of a code) or address (part of prefecture, city and town).")
}

func (t *table) byPrefix(prefix string) (selection, error) {
	digits, err := parsePrefix(prefix)
	if err != nil {
		return selection{}, err
	}
	first, _ := strconv.Atoi(digits) // at most seven digits
	width := 1
	for range codeDigits - len(digits) {
		first, width = first*10, width*10
	}
	found := selection{
		key:  "prefix:" + digits,
		from: t.firstFrom(first),
		to:   t.firstFrom(first + width),
	}
	if found.from == found.to {
		found.note = fmt.Sprintf("No postal code in the data begins with %s (codes of single companies and offices are not included). Check the digits, or search by address.", digits)
	}
	return found, nil
}

func (t *table) byAddress(address string) (selection, error) {
	if !utf8.ValidString(address) {
		return selection{}, toolerr.Invalid("address", "The text is not valid UTF-8. Send it as UTF-8, percent-encoded in a URL.")
	}
	if n := utf8.RuneCountInString(address); n > maxAddressRunes {
		return selection{}, toolerr.Invalid("address", "The address has %d characters; the most is %d. Send prefecture, city and town only, without building or name.", n, maxAddressRunes)
	}
	address = withoutCode(address)
	key := spelling.Key(address)
	if strings.Trim(key, "-") == "" {
		return selection{}, toolerr.Invalid("address", "There is no name in it. Give a part of prefecture, city and town, such as 千代田区丸の内; to search by digits of a code, use prefix.")
	}
	found := t.spelled(address)
	if short := withoutParticles(address); found.from == t.rows && short != address {
		if again := t.spelled(short); again.from < t.rows {
			again.note = strings.TrimSpace(fmt.Sprintf("Nothing is written %s: taken as %s. %s", toolerr.Quote(address), toolerr.Quote(short), again.note))
			found = again
		}
	}
	found.key = "address:" + key
	return found, nil
}

// spelled chooses the places that have an address in their name or reading; if there are
// none, those that it begins with.
func (t *table) spelled(address string) selection {
	key := spelling.Key(address)
	reading, hasReading := spellReading(address)
	found := selection{to: t.rows, match: t.containing(t.keys(), key)}
	if hasReading {
		found.match = either(found.match, t.containing(t.readings(), reading))
	}
	found.from = t.next(found.match, 0)
	if joined := spelling.Key(strings.Join(strings.Fields(address), "")); found.from == t.rows && joined != key {
		found.match = t.containing(t.keys(), joined) // the table has サンシャイン60 21階 in one
		found.from = t.next(found.match, 0)
	}
	if found.from == t.rows {
		found.match, found.note = t.byBeginning(address, key, reading)
		found.from = t.next(found.match, 0)
	}
	return found
}

// page collects up to limit rows from at on, and looks whether there are more.
func (t *table) page(rows selection, at, limit int) SearchResponse {
	page := SearchResponse{Results: []Place{}}
	if rows.note != "" {
		page.Note = &rows.note
	}
	for row := t.next(rows.match, at); row < rows.to; row = t.next(rows.match, row+1) {
		if len(page.Results) == limit {
			cursor := cursorAt(rows, row)
			page.NextCursor = &cursor
			break
		}
		page.Results = append(page.Results, t.place(row))
	}
	return page
}
