package contract

import (
	"strings"
	"testing"
)

// TestHostNames: names that differ only in what some hosts drop are the same in one of the forms.
func TestHostNames(t *testing.T) {
	long := strings.Repeat("a", 30)
	shared := func(a, b []string) bool {
		for i := range a {
			if a[i] == b[i] {
				return true
			}
		}
		return false
	}
	for _, pair := range [][2]string{
		{"orders.a_b", "orders_a.b"},
		{"orders.a_b", "orders.a__b"},
		{"orders.a_b", "orders.A_B"},
		{"orders.a_b", "orders.a-b"},
		{"orders." + long + "1" + long, "orders." + long + "2" + long},
	} {
		a, b := HostNames(pair[0]), HostNames(pair[1])
		if !shared(a, b) {
			t.Errorf("%v: %v and %v share none", pair, a, b)
		}
	}
	if a, b := HostNames("orders.a_b"), HostNames("orders.ab"); shared(a, b) {
		t.Errorf("%v and %v are taken for one", a, b)
	}
	// No name that a contract may have is cut, so the check is for names that come some other way.
	if name := "mcp_sekisho_" + strings.Repeat("a", MaxToolName); cut(name) != name {
		t.Errorf("%s is cut", name)
	}
}
