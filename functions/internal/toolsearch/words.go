package toolsearch

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// split makes lower-case words of a text: at everything but letters and digits, and where lower
// case changes to upper, as in getFile. Chinese, Japanese and Korean, which put no spaces between
// words, give pairs of characters.
func split(text string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	var before rune
	for _, r := range text {
		switch {
		case isUnspaced(r):
			flush()
			if isUnspaced(before) {
				words = append(words, string([]rune{before, r}))
			}
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				flush()
			}
			word = append(word, r)
		default:
			flush()
		}
		before = r
	}
	flush()
	return words
}

func isUnspaced(r rune) bool {
	return r >= 0x1100 && (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
}

// stemmer reduces English words to their stems, and leaves others as they are. It remembers them,
// since the words of a contract repeat.
type stemmer map[string]string

func (s stemmer) stem(word string) string {
	if stem, ok := s[word]; ok {
		return stem
	}
	stem := english.Stem(word, false)
	s[word] = stem
	return stem
}

// all gives the stems of a text without its stop words.
func (s stemmer) all(text string) []string {
	words := slices.DeleteFunc(split(text), func(w string) bool { return known().stop[w] })
	for i, w := range words {
		words[i] = s.stem(w)
	}
	return words
}

//go:embed words.txt
var wordLists string

// lists are those of words.txt: stop words, questions and selves as they are, the rest as stems.
type lists struct {
	stop, questions, selves map[string]bool
	synonyms                map[string][]string
	deeds                   map[string]deed
}

// deed is a kind of thing that an operation does.
type deed string

const (
	reads   deed = "read"
	creates deed = "create"
	updates deed = "update"
	deletes deed = "delete"
)

// known is read once, by the first who searches.
var known = sync.OnceValue(func() lists {
	l := lists{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string][]string{}, map[string]deed{}}
	plain := map[string]map[string]bool{"stop": l.stop, "question": l.questions, "self": l.selves}
	stems := stemmer{}
	for line := range strings.Lines(wordLists) {
		kind, rest, _ := strings.Cut(line, ":")
		words := strings.Fields(rest)
		for i, w := range words {
			words[i] = stems.stem(w)
			switch kind := deed(kind); kind {
			case reads, creates, updates, deletes:
				l.deeds[words[i]] = kind
			}
			if set := plain[kind]; set != nil {
				set[w] = true
			}
		}
		if kind == "same" {
			for _, w := range words {
				l.synonyms[w] = append(l.synonyms[w], words...)
			}
		}
	}
	return l
})

var deedOfMethod = map[string]deed{"GET": reads, "POST": creates, "PUT": updates, "PATCH": updates, "DELETE": deletes}

// deedOf is what the first word of a summary says, else the method.
func deedOf(d *Document, stems stemmer) deed {
	if words := split(d.Summary); len(words) > 0 && known().deeds[stems.stem(words[0])] != "" {
		return known().deeds[stems.stem(words[0])]
	}
	return deedOfMethod[d.Method]
}

// question is what was asked for.
type question struct {
	// words each with their synonyms.
	words [][]alternative
	// deed is empty where the words don't say.
	deed deed
}

// alternative is a word that a document may have, and how much it counts.
type alternative struct {
	word   string
	weight float64
}

const (
	// mostWords of a question are read.
	mostWords = 32
	// synonymCounts against the word itself.
	synonymCounts = 0.7
)

func parse(text string) question {
	var q question
	l := known()
	words := split(text)
	if len(words) > 0 && l.questions[words[0]] {
		q.deed = reads
	}
	stems, seen := stemmer{}, map[string]bool{}
	first := true
	for _, w := range words {
		self := l.selves[w]
		if self {
			w = "my"
		}
		stem := stems.stem(w)
		if len(q.words) == mostWords || l.stop[w] || seen[stem] {
			continue
		}
		seen[stem] = true
		if first && !self {
			first = false
			q.deed = cmp.Or(q.deed, l.deeds[stem])
		}
		alternatives := []alternative{{stem, 1}}
		for _, same := range l.synonyms[stem] {
			if same != stem {
				alternatives = append(alternatives, alternative{same, synonymCounts})
			}
		}
		q.words = append(q.words, alternatives)
	}
	return q
}
