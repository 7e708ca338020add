// Package toolsearch finds tools by words: an index in memory over what a contract says of them.
//
// Documents are ranked by BM25F, which adds up how often a word stands in name, path, summary and
// description, each with its weight, before it damps the sum (Robertson, Zaragoza and Taylor,
// Simple BM25 Extension to Multiple Weighted Fields, CIKM 2004). Descriptions of operations are
// short and alike, so three things are added: how much of the question a document covers, how
// much of its own heading the question covers, and whether both mean the same kind of deed
// (read, create, change, delete).
package toolsearch

import (
	"cmp"
	"math"
	"slices"

	"sekisho/functions/internal/lazy"
)

// Document is what is known of one tool.
type Document struct {
	// Name is the contract's, such as postal.lookup.
	Name string
	// Method and Path of the operation; both are empty for a tool without one.
	Method, Path         string
	Summary, Description string
}

// field is one text of a document.
type field struct {
	text func(*Document) string
	// weight is how much a word in it counts; long, from 0 to 1, how much less it counts where the
	// text is longer than others.
	weight, long float64
}

// These figures, and those below, are what found most on the questions for tuning in testdata.
// Arguments, tried as a fifth field, found hardly more, and cost reading every schema.
var fields = []field{
	{func(d *Document) string { return d.Name }, 3, 1},
	{func(d *Document) string { return d.Summary }, 3, 1},
	{func(d *Document) string { return pathParameter().ReplaceAllString(d.Path, "") }, 1, 1},
	{func(d *Document) string { return d.Description }, 0.5, 0.75},
}

const (
	// headings are the first of the fields, which say what a tool is for.
	headings = 2
	// damping is BM25's k1: how soon more of the same word stops counting.
	damping = 3
	// headingCounts is the part of a heading that was asked for, against what was found at all.
	headingCounts = 2
	// deedCounts is added where question and document mean the same kind of deed.
	deedCounts = 3
)

var pathParameter = lazy.Regexp(`\{[^}]*\}`)

// Index finds documents. It is safe for concurrent use.
type Index struct {
	entries  []entry
	postings map[string][]posting
}

// entry is what is kept of a document.
type entry struct {
	deed    deed
	heading map[string]bool
	// rarity is that of all words of the heading.
	rarity float64
}

// posting says how much a word counts in a document.
type posting struct {
	document int32
	weight   float32
}

// New indexes documents.
func New(documents []Document) *Index {
	x := &Index{entries: make([]entry, len(documents)), postings: map[string][]posting{}}
	stems := stemmer{}
	texts := make([][][]string, len(documents)) // of each document's fields
	average := make([]float64, len(fields))
	for i := range documents {
		texts[i] = make([][]string, len(fields))
		for f, field := range fields {
			texts[i][f] = stems.all(field.text(&documents[i]))
			average[f] += float64(len(texts[i][f])) / float64(len(documents))
		}
	}
	for i := range documents {
		x.add(i, texts[i], average)
		x.entries[i].deed = deedOf(&documents[i], stems)
	}
	for i, text := range texts {
		x.entries[i].heading = map[string]bool{}
		for _, word := range slices.Concat(text[:headings]...) {
			if e := &x.entries[i]; !e.heading[word] && known().deeds[word] == "" {
				e.heading[word] = true
				e.rarity += x.rarity(word)
			}
		}
	}
	return x
}

func (x *Index) add(document int, texts [][]string, average []float64) {
	weights := map[string]float64{}
	for f, words := range texts {
		for _, word := range words {
			weights[word] += fields[f].weight / (1 - fields[f].long + fields[f].long*float64(len(words))/average[f])
		}
	}
	for word, w := range weights {
		x.postings[word] = append(x.postings[word], posting{int32(document), float32(w / (damping + w))})
	}
}

// rarity is the root of BM25's inverse document frequency: in a question of five words, one that
// is rare must not outvote the rest.
func (x *Index) rarity(word string) float64 {
	n := float64(len(x.postings[word]))
	return math.Sqrt(math.Log(1 + (float64(len(x.entries))-n+0.5)/(n+0.5)))
}

// match is what a document has of a question.
type match struct {
	document int
	// score by BM25F; covered is the rarity of the question's words that it has, heading that of
	// its heading's words.
	score, covered, heading float64
}

// Find returns the places in the list of documents of those that fit the words, best first, at
// most limit. It leaves out those that are not allowed.
func (x *Index) Find(words string, limit int, allowed func(document int) bool) []int {
	q := parse(words)
	matches := map[int32]*match{}
	asked := 0.0
	for _, alternatives := range q.words {
		asked += x.match(matches, alternatives, allowed)
	}
	ranked := make([]match, 0, len(matches))
	for _, m := range matches {
		e := &x.entries[m.document]
		m.score *= 1 + m.covered/asked
		if e.rarity > 0 {
			m.score *= 1 + headingCounts*min(1, m.heading/e.rarity)
		}
		if q.deed != "" && e.deed == q.deed {
			m.score += deedCounts
		}
		ranked = append(ranked, *m)
	}
	slices.SortFunc(ranked, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.document, b.document))
	})
	found := make([]int, 0, limit)
	for _, m := range ranked[:min(limit, len(ranked))] {
		found = append(found, m.document)
	}
	return found
}

// match adds what documents have of one word of the question, or of its synonyms, whichever
// counts most. It returns the rarity of what was asked.
func (x *Index) match(matches map[int32]*match, alternatives []alternative, allowed func(int) bool) (asked float64) {
	best := map[int32]float64{}
	for _, a := range alternatives {
		postings := x.postings[a.word]
		if len(postings) == 0 {
			continue
		}
		rarity := x.rarity(a.word) * a.weight
		asked = max(asked, rarity)
		for _, p := range postings {
			if !allowed(int(p.document)) {
				continue
			}
			m := matches[p.document]
			if m == nil {
				m = &match{document: int(p.document)}
				matches[p.document] = m
			}
			if x.entries[p.document].heading[a.word] {
				m.heading += rarity
			}
			best[p.document] = max(best[p.document], rarity*float64(p.weight))
		}
	}
	for document, score := range best {
		matches[document].score += score
		matches[document].covered += asked
	}
	return asked
}
