package postal

import (
	"fmt"
	"regexp"
	"strings"

	"sekisho/functions/internal/tools/postal/spelling"
	"sekisho/functions/internal/tools/toolerr"
)

// byBeginning finds the places that an address begins with, and says what was left out of
// it. If there are none it says what was tried.
func (t *table) byBeginning(text, key, reading string) (rowSet, string) {
	found := t.leading(t.keys(), key)
	if found.end > 0 {
		return found.rows, leftOut(restAfter(text, key[:found.end], spelling.Key))
	}
	if kana := t.leading(t.readings(), reading); kana.end > 0 {
		return kana.rows, leftOut(restAfter(text, reading[:kana.end], func(s string) string {
			stored, _ := spellReading(s)
			return stored
		}))
	}
	note := "Nothing found: neither as a part of prefecture, city and town or of their readings, nor as an address that begins with a town. " +
		"Numbers in digits or kanji, ケ, ヶ and が, ノ and の, old and new kanji were taken as the same. "
	if found.cityEnd > 0 {
		city := t.cities.textOf(found.city)
		return found.rows, note + fmt.Sprintf("%s exists: check the name of the town with the user, try its reading in kana, or search for %s to list its towns.", city, city)
	}
	return found.rows, note + "Check the spelling with the user, leave out names of buildings and people, or try the town or the city alone, or its reading in kana."
}

func leftOut(rest string) string {
	if rest == "" {
		return ""
	}
	return fmt.Sprintf("The places that the address begins with; the rest was not searched for: %s.", toolerr.Quote(rest))
}

// restAfter gives what is left of a text after the beginning whose form is done.
func restAfter(text, done string, form func(string) string) string {
	for at := range text {
		if form(text[:at]) == done {
			return strings.TrimSpace(text[at:])
		}
	}
	return ""
}

// particle is a small word between two kanji, which some write and some don't: 市谷 and
// 市ヶ谷, 三宮 and 三ノ宮, 四谷 and 四ツ谷.
var particle = regexp.MustCompile(`(\p{Han})[ケヶがガヵノの之ツッつっ](\p{Han})`)

func withoutParticles(address string) string { return particle.ReplaceAllString(address, "$1$2") }

// withoutCode takes a postal code off the front of an address.
func withoutCode(address string) string {
	for at := range len(address) {
		if digits, ok := codeOf(address[:at+1]); ok && len(digits) == codeDigits {
			return address[at+1:]
		}
	}
	return address
}

// spellReading gives a text in the form in which readings are stored; ok is false if it has
// a character that no reading has.
func spellReading(text string) (stored string, ok bool) {
	return spelling.EncodeReading(spelling.Reading(text))
}
