package grant

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode writes a grant as stores keep it: JSON, without the Version.
func (g Grant) Encode() (string, error) {
	text, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("grant %s: %w", g.ID, err)
	}
	return string(text), nil
}

// Decode is the inverse of Encode.
func Decode(id, text string, version int64) (Grant, error) {
	var g Grant
	if err := json.Unmarshal([]byte(text), &g); err != nil {
		return Grant{}, fmt.Errorf("grant %s: %w", id, err)
	}
	g.Version = version
	return g, nil
}

// same reports whether a store would keep both alike.
func same(a, b Grant) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
