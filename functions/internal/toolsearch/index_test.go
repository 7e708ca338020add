package toolsearch_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sekisho/functions/internal/toolsearch"
)

var few = []toolsearch.Document{
	{Name: "orders.list", Method: "GET", Path: "/orders", Summary: "List orders"},
	{Name: "orders.create", Method: "POST", Path: "/orders", Summary: "Place an order", Description: "Takes the customer and what is ordered."},
	{Name: "orders.delete", Method: "DELETE", Path: "/orders/{order_id}", Summary: "Cancel an order"},
	{Name: "postal.lookup", Method: "GET", Path: "/postal/{postal_code}", Summary: "郵便番号から住所を調べる"},
	{Name: "maps.tile", Method: "GET", Path: "/tiles", Summary: "رسم الخريطة"},
	{Name: "files.getFileNodes", Summary: "Nodes of a file"},
}

func TestFind(t *testing.T) {
	x := toolsearch.New(few)
	for words, want := range map[string]string{
		"which orders are there": "orders.list",
		"make a new order":       "orders.create",
		"remove an order":        "orders.delete",
		"ORDERING":               "orders.list",
		"住所":                     "postal.lookup",
		"郵便番号":                   "postal.lookup",
		"الخريطة":                "maps.tile",
		"nodes":                  "files.getFileNodes",
		"postal.lookup":          "postal.lookup",
		"":                       "",
		"the of and":             "",
		"!?… \x00\xff":           "",
		"quantum entanglement":   "",
		strings.Repeat("zebra ", 31) + "customer": "orders.create",
	} {
		got := ""
		if found := x.Find(words, 1, everything); len(found) > 0 {
			got = few[found[0]].Name
		}
		if got != want {
			t.Errorf("%q found %q, want %q", words, got, want)
		}
	}
}

// TestFindLeavesOut: what is not allowed does not take the place of what is.
func TestFindLeavesOut(t *testing.T) {
	x := toolsearch.New(few)
	found := x.Find("orders", 2, func(i int) bool { return few[i].Name != "orders.list" })
	var names []string
	for _, i := range found {
		names = append(names, few[i].Name)
	}
	slices.Sort(names)
	if fmt.Sprint(names) != "[orders.create orders.delete]" {
		t.Errorf("found %v", names)
	}
	if found := toolsearch.New(nil).Find("orders", 5, everything); len(found) > 0 {
		t.Errorf("found %v in nothing", found)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("delete an order", uint8(5))
	f.Add("住所を\u202e調べる", uint8(0))
	x := toolsearch.New(few)
	f.Fuzz(func(t *testing.T, words string, limit uint8) {
		found := x.Find(words, int(limit), everything)
		if len(found) > int(limit) || len(found) > len(few) {
			t.Fatalf("%d found, of at most %d", len(found), limit)
		}
		if again := x.Find(words, int(limit), everything); !slices.Equal(found, again) {
			t.Fatalf("%v, then %v", found, again)
		}
	})
}

// BenchmarkNew is the first search of a process, over GitHub's 1,223 operations.
func BenchmarkNew(b *testing.B) {
	documents := readOperations(b)["github"]
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := toolsearch.New(documents)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		toolsearch.New(documents)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1024, "KiB-kept")
	runtime.KeepAlive(x)
}

func BenchmarkFind(b *testing.B) {
	x := toolsearch.New(readOperations(b)["github"])
	for _, words := range []string{"who reviewed this pull request", strings.Repeat("repository issue ", 600)} {
		b.Run(fmt.Sprint(len(words)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Find(words, 5, everything)
			}
		})
	}
}
