package spelling

import "testing"

// BenchmarkFirstKey is what the first key of a process does more than the others.
func BenchmarkFirstKey(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if len(readVariants()) == 0 {
			b.Fatal("no variants")
		}
	}
}

func BenchmarkKey(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if Key("札幌市北区北十条西3丁目1-5") == "" {
			b.Fatal("no key")
		}
	}
}
