package openapi

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Longest texts, in characters: what a model reads before every call costs on every call.
const (
	longSummary     = 80
	longDescription = 300
	longArgument    = 120
)

var (
	comments  = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	inline    = regexp.MustCompile(`(?i)</?(a|abbr|b|code|em|i|span|strong|sub|sup|tt|u)(\s[^<>]*)?>`)
	tags      = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)
	fences    = regexp.MustCompile("(?s)```.*?(```|$)")
	pictures  = regexp.MustCompile(`!\[[^\]]*\]\([^)]*\)`)
	links     = regexp.MustCompile(`\[([^\]]+)\](\([^)]*\)|\[[^\]]*\])`)
	lineMarks = regexp.MustCompile(`(?m)^[ \t]*([#>*+-]+|\d+\.|[=~-]{3,})[ \t]+`)
	headings  = regexp.MustCompile(`(?m)^[ \t]*#{1,6}[ \t].*$`)
	starred   = regexp.MustCompile(`\*([^*\s][^*\n]*)\*`)
	tables    = regexp.MustCompile(`(?m)^[ \t]*\|.*$`)
	emphasis  = regexp.MustCompile("\\*\\*|__|`")
	sentence  = regexp.MustCompile(`[.!?][)"']?\s`)
)

// mostText is how much of a text is looked at: what an agent gets is a fraction of it.
const mostText = 20_000

// plainText is a text without markup, in one line.
func plainText(s string) string {
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText], "")
	}
	s = comments.ReplaceAllString(s, " ")
	s = html.UnescapeString(tags.ReplaceAllString(inline.ReplaceAllString(s, ""), " "))
	for _, markup := range []*regexp.Regexp{fences, pictures, tables} {
		s = markup.ReplaceAllString(s, " ")
	}
	if below := headings.ReplaceAllString(s, ""); strings.TrimSpace(below) != "" {
		s = below
	}
	s = emphasis.ReplaceAllString(lineMarks.ReplaceAllString(links.ReplaceAllString(s, "$1"), ""), "")
	return visible(starred.ReplaceAllString(s, "$1"))
}

// visible takes out what a reviewer would not see, and makes one space of white space:
// control characters, zero-width and bidirectional marks, tags and private characters.
func visible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector), r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0':
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// clean is visible text, cut.
func clean(s string, most int) string {
	if len(s) > 8*most {
		s = strings.ToValidUTF8(s[:8*most], "")
	}
	return cut(visible(s), most)
}

// brief is the beginning of a text that may have markup: as many whole sentences as fit.
func brief(s string, most int) string { return cut(plainText(s), most) }

// cut ends a text after a sentence or, if the first one is too long, after a word.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	runes := []rune(s)
	head := string(runes[:most])
	if ends := sentence.FindAllStringIndex(head+" ", -1); ends != nil {
		if end := ends[len(ends)-1][1]; end > len(head)/3 {
			return strings.TrimSpace(head[:min(end, len(head))])
		}
	}
	head = string(runes[:most-1])
	if space := strings.LastIndexByte(head, ' '); space > len(head)/2 {
		head = head[:space]
	}
	return strings.TrimRight(head, " ,;:-") + "…"
}

// instructions are what nobody writes to describe an API: text for the model that reads it.
// They are stored as they are, for the person who reviews the contract to judge.
var instructions = regexp.MustCompile(`(?i)(ignore|disregard|forget|override) (all |any |the |your )*(previous|prior|above|earlier|preceding|system) (instruction|prompt|message|rule|direction)` +
	`|(reveal|print|send|show|repeat) (me )?(your|the) (system prompt|instructions)|(reveal|leak|exfiltrate) (your|the|all) ` +
	`|you are (now )?(an?|the) (ai|assistant|agent|language model|llm|admin)` +
	`|(do not|don't|never) (tell|inform|mention|show)\b.{0,30} (the )?user` +
	`|<\s*/?\s*(system|instructions?|assistant|tool_call)\s*>|\[/?INST\]|<\|[a-z_]+\|>` +
	`|(before|after|instead of) (calling|using) this tool,? (you )?(must|always|first|call|read|send)` +
	`|(assistant|model|llm|agent)s? (must|should|shall) (always|never|first|ignore|call|send|read)` +
	`|(always|first|must) (call|use|invoke|prefer) this tool|system prompt|jailbreak`)

// suspects are words that every one of the instructions has one of: most texts have none.
var suspects = []string{"ignore", "disregard", "forget", "override", "reveal", "print", "send", "show", "repeat", "leak", "exfiltrate", "you are",
	"tell", "inform", "mention", "system", "instruction", "assistant", "tool", "inst]", "<|", "model", "llm", "agent", "jailbreak"}

// instructs says what in a text looks like an instruction to the model.
func instructs(s string) string {
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText], "")
	}
	s = visible(s)
	lower := strings.ToLower(s)
	if !slices.ContainsFunc(suspects, func(word string) bool { return strings.Contains(lower, word) }) {
		return ""
	}
	return clean(instructions.FindString(s), 80)
}
