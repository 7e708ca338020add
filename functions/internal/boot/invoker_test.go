package boot

import (
	"context"
	"errors"
	"io"
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

type cut struct{ io.Reader }

func (cut) Close() error        { return nil }
func (cut) ContentType() string { return "text/plain" }

// TestAfter: what is to be done is done before Lambda sees the end, and once, however an invocation
// ends.
func TestAfter(t *testing.T) {
	done := 0
	function := After(HandleStream(Handle(func(context.Context, int) (int, error) { return 0, nil }),
		func(_ context.Context, payload []byte) (cut, error) {
			if len(payload) == 0 {
				return cut{}, errors.New("no payload")
			}
			return cut{strings.NewReader("abc")}, nil
		}), func() { done++ }).(Streamer)
	if _, err := function.Invoke(t.Context(), []byte("1")); err != nil || done != 1 {
		t.Errorf("whole: %v, done %d times", err, done)
	}
	if _, err := function.Stream(t.Context(), nil); err == nil || done != 2 {
		t.Errorf("no stream: %v, done %d times", err, done)
	}
	stream, err := function.Stream(t.Context(), []byte("1"))
	if err != nil || done != 2 {
		t.Fatalf("stream: %v, done %d times", err, done)
	}
	if all, err := io.ReadAll(stream); string(all) != "abc" || err != nil || done != 3 || stream.Close() != nil || done != 3 {
		t.Errorf("%s %v, done %d times", all, err, done)
	}
}
