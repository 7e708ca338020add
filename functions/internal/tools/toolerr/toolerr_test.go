package toolerr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sekisho/functions/internal/tools/toolerr"
)

func TestConstructorsKeepCodeParamAndMessage(t *testing.T) {
	for _, c := range []struct {
		err  error
		want toolerr.Error
	}{
		{toolerr.Invalid("date", "bad %q", "x"), toolerr.Error{Code: toolerr.InvalidArgument, Param: "date", Message: `bad "x"`}},
		{toolerr.Missing("postal_code", "no %d", 7), toolerr.Error{Code: toolerr.NotFound, Param: "postal_code", Message: "no 7"}},
		{toolerr.Outside("year", "no"), toolerr.Error{Code: toolerr.OutOfRange, Param: "year", Message: "no"}},
	} {
		var got *toolerr.Error
		if !errors.As(fmt.Errorf("wrapped: %w", c.err), &got) {
			t.Fatalf("%v is no *Error behind a wrap", c.err)
		}
		if *got != c.want || c.err.Error() != c.want.Message {
			t.Errorf("got %+v, want %+v", *got, c.want)
		}
	}
}

func TestQuoteIsShortAndValid(t *testing.T) {
	for in, want := range map[string]string{
		"":                               `""`,
		"100-0001":                       `"100-0001"`,
		"a\xffb":                         `"a�b"`,
		strings.Repeat("町", 40):          `"` + strings.Repeat("町", 40) + `"`,
		strings.Repeat("町", 41):          `"` + strings.Repeat("町", 40) + `…"`,
		strings.Repeat("a", 1<<20):       `"` + strings.Repeat("a", 40) + `…"`,
		strings.Repeat("\U0001F600", 99): `"` + strings.Repeat("\U0001F600", 40) + `…"`,
	} {
		if got := toolerr.Quote(in); got != want {
			t.Errorf("%.20q: got %s, want %s", in, got, want)
		}
	}
}
