package contract

import (
	"math/big"
	"regexp"
	"strings"
	"sync"

	"sekisho/functions/internal/lazy"
	"sekisho/functions/internal/reply"
)

// explain turns the validator's trace into a sentence about one argument.
// mostFinding is the longest finding of the validator that an error repeats, in characters:
// it may hold the caller's value.
const mostFinding = 200

// explain makes the validator's path of steps into a sentence about one argument.
func (s *Schemas) explain(err error) error {
	text := err.Error()
	name := ""
	if m := propertyPath().FindStringSubmatch(text); m != nil {
		name = m[1]
	}
	for {
		_, rest, ok := strings.Cut(text, "validating ")
		if !ok {
			break
		}
		_, text, ok = strings.Cut(rest, ": ")
		if !ok {
			break
		}
	}
	return s.wrong(name, reply.Cut(plain(text), mostFinding))
}

// compared is the only saying with numbers that plain has to rewrite.
const compared = "$1 is $2 than $3"

// saying rephrases one of the validator's findings for people.
type saying struct {
	finding *regexp.Regexp
	saying  string
}

// sayings are tried in order; a finding that matches none stays as it is. They are compiled
// when the first wrong argument arrives, so that cold starts don't wait for them.
var sayings = sync.OnceValue(func() []saying {
	return []saying{
		{regexp.MustCompile(`^(?:minimum|maximum): (\S+) is (less|greater) than (\S+)$`), compared},
		{regexp.MustCompile(`^type: .* has type "(\w+)", want "(\w+)"$`), "of type $1, not $2"},
		{regexp.MustCompile(`(?s)^enum: .* does not equal any of: \[(.*)\]$`), "none of: $1"},
		{regexp.MustCompile(`(?s)^(?:min|max)Length: .* contains (\d+) Unicode code points, (fewer|more) than (\d+)$`), "$1 characters, $2 than $3"},
		{regexp.MustCompile(`^(?:min|max)Items: array length (\d+) is (less|greater) than (\d+)$`), "$1 elements, $2 than $3"},
		{regexp.MustCompile(`(?s)^pattern: (".*") does not match regular expression ".*"$`), "$1 does not have the right form"},
	}
})

// fraction is how the validator writes numbers: 1492/1, or 2985/2 for 1492.5.
var fraction = lazy.Regexp(`-?\d+/\d+`)

// plain rephrases a finding, with numbers in decimal.
func plain(text string) string {
	for _, s := range sayings() {
		if !s.finding.MatchString(text) {
			continue
		}
		text = s.finding.ReplaceAllString(text, s.saying)
		if s.saying != compared {
			return text
		}
		text = fraction().ReplaceAllStringFunc(text, func(f string) string {
			number, ok := new(big.Rat).SetString(f)
			if !ok {
				return f
			}
			return decimal(number.FloatString(6))
		})
		first, rest, _ := strings.Cut(text, " than ")
		return first + " than " + decimal(rest)
	}
	return text
}

// decimal drops trailing zeros after the decimal point.
func decimal(number string) string {
	if !strings.Contains(number, ".") {
		return number
	}
	return strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
}
