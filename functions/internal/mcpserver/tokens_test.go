package mcpserver

import "testing"

// TestEstimateTokens: four ASCII characters, or one other, are a token.
func TestEstimateTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2, "千代田": 3, "ab千": 2} {
		if got := estimateTokens([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
