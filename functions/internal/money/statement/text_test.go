package statement

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sekisho/functions/internal/money/chargeback"
)

// TestTexts: every language has every text, with the same verbs.
func TestTexts(t *testing.T) {
	verbs := regexp.MustCompile(`%[a-z]`)
	english := reflect.ValueOf(texts[English])
	for language, words := range texts {
		v := reflect.ValueOf(words)
		for i := range v.NumField() {
			name, text := v.Type().Field(i).Name, v.Field(i).String()
			want := strings.Join(verbs.FindAllString(english.Field(i).String(), -1), "")
			if got := strings.Join(verbs.FindAllString(text, -1), ""); text == "" || got != want {
				t.Errorf("%s %s: %q with %q, want %q", language, name, text, got, want)
			}
		}
		if words.tool("postal.lookup") != "postal.lookup" || words.tool(chargeback.NotInLog) == "" {
			t.Errorf("%s: names of tools", language)
		}
	}
}

func TestDecimal(t *testing.T) {
	for want, c := range map[string][2]int64{
		"0": {0, 0}, "999": {999, 0}, "1,000": {1000, 0}, "-12,345,678": {-12_345_678, 0}, "0.05": {5, 2}, "1,234.50": {123_450, 2}, "-0.1": {-1, 1},
	} {
		if got := decimal(c[0], int(c[1])); got != want {
			t.Errorf("%v: %s, want %s", c, got, want)
		}
	}
}
