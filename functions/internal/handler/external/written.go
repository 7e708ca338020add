package external

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"sekisho/functions/internal/outbound"
)

// longestText is how much of an answer that is not a JSON object is repeated, in bytes.
const longestText = 16 << 10

// written says what came back from a write that the upstream accepted. A JSON object speaks
// for itself. Of any other answer it tells the status, unless that says no more than "done",
// the location of what was made, and the body as far as it can be read; of an answer that
// says nothing, nothing.
func written(resp outbound.Response) Object {
	text, err := resp.Text()
	text = strings.TrimSpace(text)
	var answer Object
	if json.Unmarshal([]byte(text), &answer) == nil && answer != nil {
		return answer
	}
	answer = Object{}
	if location := resp.Public("Location"); location != "" {
		answer.add("location", location)
	}
	switch {
	case err != nil:
		answer.add("body_unreadable", true)
		answer.add("content_type", resp.Public("Content-Type"))
	case text == "":
	case json.Valid([]byte(text)) && len(text) <= longestText:
		answer["body"] = json.RawMessage(text)
	default:
		answer.add("content_type", resp.Public("Content-Type"))
		answer.add("body", clip(text))
		if len(text) > longestText {
			answer.add("body_truncated", true)
		}
	}
	if len(answer) > 0 || !done(resp.Status) {
		answer.add("http_status", resp.Status)
	}
	return answer
}

func (o Object) add(name string, value any) {
	o[name], _ = json.Marshal(value) // strings, numbers and booleans always encode
}

// done: the status says no more than that.
func done(status int) bool {
	return status == http.StatusOK || status == http.StatusNoContent || status == http.StatusResetContent
}

func clip(text string) string {
	if len(text) <= longestText {
		return text
	}
	end := longestText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
