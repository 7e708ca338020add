package mcpserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"unicode/utf8"
)

// FuzzMembers: members finds what encoding/json finds in UTF-8, of which it keeps the last of each name.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { "a" : 1 , "b":[{"}":"]"},{}],"c":"\"\\","a":null} `, `{"a":-1e5,"\u0062":true}`, `{"":{"":{"":[]}}}`, "{\t\"a\"\n:\r\"\" }", `{"\ud800":0}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, object []byte) {
		object = bytes.TrimSpace(object)
		var want map[string]json.RawMessage
		if !utf8.Valid(object) || json.Unmarshal(object, &want) != nil || want == nil {
			t.Skip()
		}
		got := map[string]json.RawMessage{}
		members(object, func(name string, value json.RawMessage) { got[name] = value })
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return slices.Equal(a, b) }) {
			t.Errorf("%s: got %q, want %q", object, got, want)
		}
	})
}
