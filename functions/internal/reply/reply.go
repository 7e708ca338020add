// Package reply holds what every door does to what goes back to a caller: how it is encoded,
// and how much of the caller's own text is repeated in it. An answer that repeats its request
// lets anybody make a server send data at its owner's expense.
package reply

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// JSON encodes an answer. Unlike json.Marshal it leaves <, > and & as they are: nothing here
// is put into a web page, and six bytes in the place of one would multiply some answers.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// quoted is how many characters of a value an error repeats: enough to recognize it.
const quoted = 40

// Quote shows in a message what a caller sent: its first 40 characters, as valid UTF-8.
func Quote(text string) string { return `"` + Cut(text, quoted) + `"` }

// Cut keeps the first characters of a text, at most so many, and marks that more followed.
// The result is valid UTF-8.
func Cut(text string, characters int) string {
	rest := text
	for range characters {
		if rest == "" {
			break
		}
		_, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
	}
	kept := strings.ToValidUTF8(text[:len(text)-len(rest)], "\uFFFD")
	if rest != "" {
		kept += "…"
	}
	return kept
}

// Unescape undoes the HTML escapes of another encoder, in place: the JSON means the same, in
// fewer bytes.
func Unescape(text []byte) []byte {
	out := text[:0]
	for {
		n := bytes.IndexByte(text, '\\')
		if n < 0 || n == len(text)-1 {
			return append(out, text...)
		}
		out, text = append(out, text[:n]...), text[n:]
		if len(text) >= 6 && text[1] == 'u' && htmlEscapes[string(text[:6])] != 0 {
			out, text = append(out, htmlEscapes[string(text[:6])]), text[6:]
		} else { // another escape: its second byte may be a backslash too
			out, text = append(out, text[:2]...), text[2:]
		}
	}
}

// htmlEscapes are those that encoding/json writes.
var htmlEscapes = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
