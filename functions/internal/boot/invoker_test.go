package boot

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestHandleIsSafe: of many calls at once each gets its own answer.
func TestHandleIsSafe(t *testing.T) {
	h := Handle(func(_ context.Context, in string) (string, error) { return strings.Repeat(in, 100) + "<&>", nil })
	done := make(chan error, 8)
	for i := range 8 {
		go func() {
			letter := string(rune('a' + i))
			for range 2000 {
				got, err := h.Invoke(context.Background(), []byte(`"`+letter+`"`))
				if want := `"` + strings.Repeat(letter, 100) + `<&>"`; err != nil || strings.TrimSpace(string(got)) != want {
					done <- errors.New("got " + string(got))
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := h.Invoke(context.Background(), []byte(`7`)); err == nil {
		t.Error("a payload of another type is taken")
	}
}

func TestConsumeAnswersNull(t *testing.T) {
	var got string
	failed := errors.New("failed")
	h := Consume(func(_ context.Context, in string) error {
		if got = in; in == "bad" {
			return failed
		}
		return nil
	})
	if answer, err := h.Invoke(t.Context(), []byte(`"good"`)); err != nil || strings.TrimSpace(string(answer)) != "null" || got != "good" {
		t.Errorf("answer %s, %v, after %q", answer, err, got)
	}
	if answer, err := h.Invoke(t.Context(), []byte(`"bad"`)); !errors.Is(err, failed) || answer != nil {
		t.Errorf("answer %s, %v; want the handler's error", answer, err)
	}
}
