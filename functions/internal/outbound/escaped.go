package outbound

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// span is where a secret was found, in bytes.
type span struct{ start, end int }

const (
	// deepest is how many escapings may lie around one another: JSON in a JSON string in a
	// URL, say.
	deepest = 4
	// leastEncoded is the length from which a secret is looked for in base64 and
	// hexadecimal; a shorter one would be found in anything.
	leastEncoded = 6
)

// find returns where the secrets are in text, in order of their starts: as they are, with
// any of their characters escaped in any of the ways that units knows, or inside a run of
// base64 or hexadecimal digits. What is escaped is decoded and compared: there are more
// ways to write a character than a list could hold.
func (s scrubber) find(text string) []span { return s.findWithin(text, deepest) }

func (s scrubber) findWithin(text string, depth int) []span {
	var found []span
	for at := range len(text) {
		readings := units(text, at, deepest)
		for _, secret := range s.secrets {
			if end := match(text, readings, secret); end > 0 {
				found = append(found, span{withoutBackslashes(text, at), end})
			}
		}
	}
	if depth > 0 {
		found = append(found, s.findEncoded(text, depth)...)
	}
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	return found
}

// withoutBackslashes moves a start before the backslashes that lead to it: one left over
// would escape what comes in the secret's place.
func withoutBackslashes(text string, at int) int {
	for at > 0 && text[at-1] == '\\' {
		at--
	}
	return at
}

// match is where secret ends in text if it begins with one of the readings, 0 if it
// doesn't.
func match(text string, readings []unit, secret string) int {
	for _, u := range readings {
		rest, ok := strings.CutPrefix(secret, u.value)
		switch {
		case !ok:
		case rest == "":
			return u.end
		case u.end < len(text):
			if end := match(text, units(text, u.end, deepest), rest); end > 0 {
				return end
			}
		}
	}
	return 0
}

// unit is one way to read what begins at a place: its value and where it ends.
type unit struct {
	value string
	end   int
}

// introducers begin an escape: of JSON, JavaScript and most other languages, of URLs, of
// HTML and XML.
const introducers = `\%&`

// units are the readings of text at at, the one with the most escapings undone first.
// Escapings may be nested, so the digits of an escape are read by units too.
func units(text string, at, depth int) []unit {
	if depth > 0 && strings.ContainsRune(introducers, rune(text[at])) {
		inner := units(text, at, depth-1)
		var all []unit
		for _, u := range inner {
			if value, end := escape(text, u, depth-1); end > 0 {
				all = append(all, unit{value, end})
			}
		}
		return append(all, inner...)
	}
	return []unit{{text[at : at+1], at + 1}}
}

// escape reads the escape that intro begins; end is 0 if there is none.
func escape(text string, intro unit, depth int) (value string, end int) {
	switch intro.value {
	case `\`:
		return backslash(text, intro.end, depth)
	case "%":
		kind, next := char(text, intro.end, depth)
		if kind == "u" { // %uXXXX, by old JavaScript
			return digits(text, next, 4, 4, 16, depth)
		}
		return digits(text, intro.end, 2, 2, 16, depth)
	case "&":
		return entity(text, intro.end, depth)
	}
	return "", 0
}

func backslash(text string, at, depth int) (string, int) {
	kind, next := char(text, at, depth)
	switch kind {
	case "":
		return "", 0
	case "x":
		return digits(text, next, 2, 2, 16, depth)
	case "U":
		return digits(text, next, 8, 8, 16, depth)
	case "u":
		if open, inner := char(text, next, depth); open == "{" {
			value, end := digits(text, inner, 1, 6, 16, depth)
			if closing, after := char(text, max(end, inner), depth); end > 0 && closing == "}" {
				return value, after
			}
			return "", 0
		}
		return digits(text, next, 4, 4, 16, depth)
	case "0", "1", "2", "3", "4", "5", "6", "7":
		return digits(text, at, 1, 3, 8, depth)
	}
	if kind[0] >= 'a' && kind[0] <= 'z' || kind[0] >= 'A' && kind[0] <= 'Z' {
		return "", 0 // \n and its like: no secret holds a control character
	}
	return kind, next // \/ \\ \" \'
}

func entity(text string, at, depth int) (string, int) {
	if hash, next := char(text, at, depth); hash == "#" {
		base, most := 10, 7
		if x, after := char(text, next, depth); x == "x" || x == "X" {
			base, most, next = 16, 6, after
		}
		value, end := digits(text, next, 1, most, base, depth)
		if end == 0 {
			return "", 0
		}
		if semicolon, after := char(text, end, depth); semicolon == ";" {
			end = after
		}
		return value, end
	}
	const longest = len("DiacriticalGrave") // of those that stand for ASCII
	name := "&"
	for end := at; len(name) <= longest+1; {
		c, next := char(text, end, depth)
		if c == "" {
			break
		}
		name, end = name+c, next
		if c == ";" {
			if value := html.UnescapeString(name); value != name {
				return value, end
			}
			break
		}
	}
	return "", 0
}

// digits reads least to most digits of a character's number.
func digits(text string, at, least, most, base, depth int) (string, int) {
	number, n := 0, 0
	for n < most {
		c, next := char(text, at, depth)
		d, err := strconv.ParseInt(c, base, 8)
		if err != nil || c == "-" || c == "+" {
			break
		}
		number, at, n = number*base+int(d), next, n+1
	}
	if n < least || number > utf8.MaxRune {
		return "", 0
	}
	if base == 16 && most == 2 && number >= utf8.RuneSelf {
		return string([]byte{byte(number)}), at // one byte of several
	}
	return string(rune(number)), at
}

// char is the first reading at at, "" at the end of the text.
func char(text string, at, depth int) (string, int) {
	if at >= len(text) {
		return "", at
	}
	u := units(text, at, depth)[0]
	return u.value, u.end
}

// findEncoded looks into runs of base64 and hexadecimal digits. A run may begin before the
// secret's encoding does, so each offset is tried; if the secret is in it, all of it goes.
func (s scrubber) findEncoded(text string, depth int) []span {
	encoded := scrubber{}
	shortest := len(text)
	for _, secret := range s.secrets {
		if len(secret) >= leastEncoded {
			encoded.secrets = append(encoded.secrets, secret)
			shortest = min(shortest, len(secret))
		}
	}
	if len(encoded.secrets) == 0 {
		return nil
	}
	var found []span
	for at := 0; at < len(text); {
		run, end := base64Run(text, at)
		if len(run) >= shortest*4/3 && encoded.inRun(run, depth-1) {
			found = append(found, span{withoutBackslashes(text, at), end})
		}
		at = max(end, at+1)
	}
	return found
}

func (s scrubber) inRun(run string, depth int) bool {
	for offset := range min(4, len(run)) {
		chunk := run[offset:]
		if plain, _ := base64.RawStdEncoding.DecodeString(chunk[:len(chunk)-len(chunk)%4]); len(s.findWithin(string(plain), depth)) > 0 {
			return true
		}
		// The last, incomplete group.
		if plain, err := base64.RawStdEncoding.DecodeString(chunk); err == nil && len(s.findWithin(string(plain), depth)) > 0 {
			return true
		}
	}
	for offset := range min(2, len(run)) {
		plain, _ := hex.DecodeString(run[offset:]) // as far as it goes
		if len(s.findWithin(string(plain), depth)) > 0 {
			return true
		}
	}
	return false
}

// base64Run is the run of base64 digits at at, in the standard alphabet, and its end. Its
// digits may be escaped, as \/ is in JSON, and broken into lines.
func base64Run(text string, at int) (string, int) {
	var run strings.Builder
	for at < len(text) {
		c, end := char(text, at, deepest)
		switch {
		case c == "-":
			run.WriteByte('+')
		case c == "_":
			run.WriteByte('/')
		case len(c) == 1 && isBase64(c[0]):
			run.WriteString(c)
		case run.Len() > 0 && (c == "\r" || c == "\n"):
		case run.Len() > 0 && c == `\` && end < len(text) && (text[end] == 'r' || text[end] == 'n'):
			end++
		default:
			return run.String(), at
		}
		at = end
	}
	return run.String(), at
}

func isBase64(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/'
}
