package contract

import (
	"fmt"
	"strings"
	"testing"
)

// described makes a description of counted operations, with more members of x-sekisho for some.
func described(n int, more map[int]string) []byte {
	paths := make([]string, n)
	for i := range n {
		paths[i] = fmt.Sprintf(`"/p%d":{"get":{"operationId":"op.n%d","x-sekisho":{"function":"f","units":1%s}}}`, i, i, more[i])
	}
	return []byte(`{"paths":{` + strings.Join(paths, ",") + `}}`)
}

// TestCodesAreForever: a code names a counter in tables that exist.
func TestCodesAreForever(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"postal.lookup": "ao", "calendar.holidays": "M6"} {
		op := api.Operation(id)
		if op.Code != want || api.ByCode(want) != op {
			t.Errorf("%s has the code %s, want %s", id, op.Code, want)
		}
	}
	for _, op := range api.Operations {
		if (op.Code == "") == (op.Units > 0) {
			t.Errorf("%s: %d units, code %q", op.ID, op.Units, op.Code)
		}
	}
	if api.ByCode("") != nil {
		t.Error("exempt operations were found by their missing code")
	}
}

func TestCodes(t *testing.T) {
	_, err := Parse(described(2, map[int]string{0: `,"code":"aa"`, 1: `,"code":"aa"`}))
	if err == nil || !strings.Contains(err.Error(), "op.n0 and op.n1") && !strings.Contains(err.Error(), "op.n1 and op.n0") {
		t.Errorf("a collision: %v", err)
	}
	if _, err := Parse(described(1, map[int]string{0: `,"code":"a-"`})); err == nil {
		t.Error("a code of other characters was taken")
	}
	api, err := Parse(described(MaxCoded+1, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range api.Operations {
		if op.Code != "" {
			t.Errorf("%s of too many operations has the code %s", op.ID, op.Code)
		}
	}
}
