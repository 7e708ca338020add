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
	// deepestEncoded is the same for base64 and hexadecimal, which are looked into as a whole.
	deepestEncoded = 2
	// leastEncoded is the length from which a secret is looked for in base64 and
	// hexadecimal; a shorter one would be found in anything.
	leastEncoded = 6
)

// find returns where the secrets are in text, in order of their starts: as they are, with
// any of their characters escaped in any of the ways that units knows, or inside a run of
// base64 or hexadecimal digits. What is escaped is decoded and compared: there are more
// ways to write a character than a list could hold.
func (s scrubber) find(text string) []span { return s.findWithin(text, deepestEncoded) }

func (s scrubber) findWithin(text string, depth int) []span {
	var first [256]bool // that a secret or an escape can begin with
	for _, c := range []byte(introducers) {
		first[c] = true
	}
	for _, secret := range s.secrets {
		first[secret[0]] = true
	}
	var found []span
	for at := range len(text) {
		if !first[text[at]] {
			continue
		}
		readings := units(text, at)
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
func match(text string, readings readings, secret string) int {
	for layers := deepest; layers >= 0; layers-- {
		u := readings[layers]
		rest, ok := strings.CutPrefix(secret, u.value)
		switch {
		case !ok || layers < deepest && u == readings[layers+1]: // tried already
		case rest == "":
			return u.end
		case u.end < len(text):
			if end := match(text, units(text, u.end), rest); end > 0 {
				return end
			}
		}
	}
	return 0
}

// unit is a way to read what begins at a place: its value and where it ends.
type unit struct {
	value string
	end   int
}

// introducers begin an escape: of JSON, JavaScript and most other languages, of URLs, of
// HTML and XML.
const introducers = `\%&`

// readings are those with none, one and so on up to all layers of escaping undone.
type readings [deepest + 1]unit

func units(text string, at int) readings {
	all := readings{{text[at : at+1], at + 1}}
	for layers := range deepest {
		all[layers+1] = undone(text, all[layers], layers)
	}
	return all
}

// read is the reading of text at at once that many layers of escaping are undone, empty at
// the end of the text.
func read(text string, at, layers int) unit {
	if at >= len(text) {
		return unit{"", at}
	}
	u := unit{text[at : at+1], at + 1}
	for done := range layers {
		u = undone(text, u, done)
	}
	return u
}

// undone undoes one more layer of u, which was read with so many undone.
func undone(text string, u unit, layers int) unit {
	if value, end := escape(text, u, layers); end > 0 {
		return unit{value, end}
	}
	return u
}

// escape reads the escape that one of the introducers begins; end is 0 if there is none. Its symbols are read
// with the other layers undone, its letters and digits as they are: nothing escapes those.
func escape(text string, intro unit, layers int) (value string, end int) {
	switch at := intro.end; intro.value {
	case `\`:
		return backslash(text, at, layers)
	case "%":
		if at < len(text) && text[at] == 'u' { // %uXXXX, by old JavaScript
			return digits(text, at+1, 4, 4, 16)
		}
		return digits(text, at, 2, 2, 16)
	case "&":
		return entity(text, at, layers)
	}
	return "", 0
}

func backslash(text string, at, layers int) (string, int) {
	kind := read(text, at, layers)
	switch kind.value {
	case "":
		return "", 0
	case "x":
		return digits(text, kind.end, 2, 2, 16)
	case "U":
		return digits(text, kind.end, 8, 8, 16)
	case "u":
		open := read(text, kind.end, layers)
		if open.value != "{" {
			return digits(text, kind.end, 4, 4, 16)
		}
		value, end := digits(text, open.end, 1, 6, 16)
		return closed(text, value, end, layers, "}")
	case "0", "1", "2", "3", "4", "5", "6", "7":
		return digits(text, at, 1, 3, 8)
	}
	if isAlphanumeric(kind.value[0]) {
		return "", 0 // \n and its like: no secret holds a control character
	}
	return kind.value, kind.end // \/ \\ \" \'
}

func entity(text string, at, layers int) (string, int) {
	if hash := read(text, at, layers); hash.value == "#" {
		base, most, from := 10, 7, hash.end
		if from < len(text) && (text[from] == 'x' || text[from] == 'X') {
			base, most, from = 16, 6, from+1
		}
		value, end := digits(text, from, 1, most, base)
		if value, closedEnd := closed(text, value, end, layers, ";"); closedEnd > 0 {
			return value, closedEnd
		}
		return value, end // browsers take it without the semicolon, too
	}
	const longest = len("CounterClockwiseContourIntegral")
	end := at
	for end < len(text) && end-at < longest && isAlphanumeric(text[end]) {
		end++
	}
	if end == at {
		return "", 0
	}
	return closed(text, html.UnescapeString("&"+text[at:end]+";"), end, layers, ";")
}

// closed is value if what ends it comes next.
func closed(text, value string, end, layers int, by string) (string, int) {
	if end == 0 {
		return "", 0
	}
	if u := read(text, end, layers); u.value == by {
		return value, u.end
	}
	return "", 0
}

// digits reads least to most digits of a character's number.
func digits(text string, at, least, most, base int) (string, int) {
	end := at
	for end < len(text) && end-at < most {
		if _, err := strconv.ParseUint(text[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	if end-at < least {
		return "", 0
	}
	number, _ := strconv.ParseUint(text[at:end], base, 32)
	if most == 2 && number >= utf8.RuneSelf {
		return string([]byte{byte(number)}), end // one byte of several
	}
	return string(rune(number)), end
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
	// What comes with an error is decoded as far as the digits go.
	holds := func(plain []byte, _ error) bool { return len(s.findWithin(string(plain), depth)) > 0 }
	for offset := range min(4, len(run)) {
		if holds(base64.RawStdEncoding.DecodeString(run[offset:])) {
			return true
		}
	}
	return holds(hex.DecodeString(run)) || holds(hex.DecodeString(run[1:]))
}

// base64Run is the run of base64 digits at at, in the standard alphabet, and where it and
// its padding end. Its digits may be escaped, as \/ is in JSON, and broken into lines.
func base64Run(text string, at int) (string, int) {
	start := at
	for at < len(text) && isAlphanumeric(text[at]) {
		at++
	}
	if at == len(text) || strings.IndexByte("+/-_=\r\n"+introducers, text[at]) < 0 {
		return text[start:at], at // nearly always
	}
	var run strings.Builder
	run.WriteString(text[start:at])
	for {
		u := read(text, at, deepest)
		switch c := u.value; {
		case c == "-":
			run.WriteByte('+')
		case c == "_":
			run.WriteByte('/')
		case len(c) == 1 && isBase64(c[0]):
			run.WriteString(c)
		case run.Len() > 0 && isLineBreak(text, &u):
		default:
			for u.value == "=" {
				at = u.end
				u = read(text, at, deepest)
			}
			return run.String(), at
		}
		at = u.end
	}
}

// isLineBreak: as it is, or as \r and \n in a string, which it makes u end after.
func isLineBreak(text string, u *unit) bool {
	if u.value == `\` && u.end < len(text) && (text[u.end] == 'r' || text[u.end] == 'n') {
		u.end++
		return true
	}
	return u.value == "\r" || u.value == "\n"
}

func isBase64(c byte) bool { return isAlphanumeric(c) || c == '+' || c == '/' }

func isAlphanumeric(c byte) bool {
	return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
}
