package spelling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"postal_lookup", "postal_search", "calendar_holidays", "convert_units", "住所検索"}
	for name, want := range map[string][]string{
		"postal_lokup":            {"postal_lookup"},
		"Postal_Lookup":           {"postal_lookup"},
		"postal_serch":            {"postal_search"},
		"calendar_holiday":        {"calendar_holidays"},
		"住所検作":                    {"住所検索"},
		"":                        {},
		"x":                       {},
		strings.Repeat("p", 64):   {},
		strings.Repeat("p", 1e6):  nil,
		"postal_\x00\xff\u202eup": {"postal_lookup"},
	} {
		if got := Nearest(name, names, 3); !slices.Equal(got, want) {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
	}
	if got := Nearest("postal_l", []string{"postal_a", "postal_b", "postal_l", "postal_lo"}, 2); !slices.Equal(got, []string{"postal_l", "postal_a"}) {
		t.Errorf("not the two nearest: %q", got)
	}
}

// TestKnown: an answer is short however many names there are.
func TestKnown(t *testing.T) {
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("orders_%03d", i))
	}
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"ab", []string{"a", "b"}, "there are: a, b."},
		{"orders_0010", many, "did you mean orders_000, orders_001 or orders_010?"},
		{"convert", many, "there are 1000, none like it."},
	} {
		if got := Known(c.name, c.names); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
