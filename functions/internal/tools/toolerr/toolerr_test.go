package toolerr_test

import (
	"errors"
	"fmt"
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
