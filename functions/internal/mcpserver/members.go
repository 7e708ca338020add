package mcpserver

import (
	"bytes"
	"encoding/json"
)

// blank is what JSON allows between its tokens.
const blank = " \t\r\n"

// members visits the members of an object, which must be valid JSON, in their order. One that comes
// twice is visited twice.
func members(object json.RawMessage, visit func(name string, value json.RawMessage)) {
	rest := bytes.TrimLeft(object[1:], blank)
	for rest[0] != '}' {
		n := valueSize(rest)
		name := text(rest[:n])
		rest = bytes.TrimLeft(rest[n:], blank)
		rest = bytes.TrimLeft(rest[len(":"):], blank)
		n = valueSize(rest)
		visit(name, json.RawMessage(rest[:n]))
		rest = bytes.TrimLeft(rest[n:], blank)
		if rest[0] == ',' {
			rest = bytes.TrimLeft(rest[1:], blank)
		}
	}
}

// valueSize is how many bytes the value has that valid JSON begins with.
func valueSize(valid []byte) int {
	depth := 0
	for i := 0; i < len(valid); i++ {
		switch valid[i] {
		case '"':
			i += stringSize(valid[i:]) - 1
		case '{', '[':
			depth++
			continue
		case '}', ']', ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i // of a number or a word
			}
			if valid[i] != '}' && valid[i] != ']' {
				continue
			}
			depth--
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(valid)
}

// stringSize is how many bytes the string has, with its quotes, that valid JSON begins with.
func stringSize(valid []byte) int {
	for i := 1; i < len(valid); i++ {
		switch valid[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(valid)
}

// text decodes a JSON string; anything else is empty.
func text(raw json.RawMessage) string {
	if len(raw) < len(`""`) || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
