package backend

import (
	"bytes"
	"encoding/json"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/reply"
)

// Shown is a backend's answer, a 2xx in UTF-8, as MCP shows it: always one JSON object. An
// object is passed on as it is, any other JSON is the result, other text the text, and of an
// answer without a body the status is told, and the location of what was made.
func Shown(op *contract.Operation, status int, location string, body []byte) json.RawMessage {
	body = bytes.TrimSpace(body)
	isJSON := op.Answer != contract.AnswerText && json.Valid(body)
	var shown any
	switch {
	case len(body) == 0:
		shown = struct {
			Status   int    `json:"status"`
			Location string `json:"location,omitempty"`
		}{status, location}
	case isJSON && body[0] == '{' && op.Answer != contract.AnswerWrapped:
		return body
	case isJSON:
		shown = map[string]any{"result": json.RawMessage(body)}
	default:
		shown = map[string]any{"text": string(body)}
	}
	encoded, _ := reply.JSON(shown) // numbers, texts and valid raw JSON always encode
	return encoded
}
