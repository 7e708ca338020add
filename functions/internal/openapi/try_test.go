package openapi

import (
	"os"
	"testing"
)

func TestTry(t *testing.T) {
	f := os.Getenv("TRY")
	if f == "" {
		t.Skip()
	}
	text, r, err := Import(t.Context(), Options{Location: f})
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/try.yaml", text, 0o644)
	r.Write(os.Stdout, false)
}
