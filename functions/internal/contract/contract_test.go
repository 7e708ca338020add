package contract

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"testing"

	"sekisho/functions/internal/contract/source"
)

var update = flag.Bool("update", false, "write what base.yaml holds of other packages, and what is made of it and tools.yaml")

// lastWritten ends the part of base.yaml that people write.
const lastWritten = "Don't edit it.\n"

// TestDescriptionIsCurrent keeps the generated end of base.yaml equal to the packages that it is
// made of, and the embedded files equal to what is made of base.yaml and tools.yaml.
func TestDescriptionIsCurrent(t *testing.T) {
	written, _, found := bytes.Cut(base, []byte(lastWritten))
	if !found {
		t.Fatalf("base.yaml has no line that ends in %q", lastWritten)
	}
	wantBase := bytes.Join([][]byte{written, []byte(lastWritten), generated(t, written)}, nil)
	baseJSON := asJSON(t, wantBase)
	merged, err := Merge(baseJSON, asJSON(t, toolsYAML))
	if err != nil {
		t.Fatal(err)
	}
	// What a list of the tools takes is measured by mcpserver, which go generate runs next.
	have, err := WithListSizes(document, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(baseJSON)
	for name, file := range map[string]struct{ want, have []byte }{
		"base.yaml":   {wantBase, base},
		"base.sha256": {[]byte(hex.EncodeToString(sum[:8]) + "\n"), []byte(baseHash)},
		File:          {merged, have},
	} {
		if *update {
			if err := os.WriteFile(name, file.want, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if !bytes.Equal(file.want, file.have) {
			t.Errorf("%s is out of date; run: go generate ./functions/internal/contract", name)
		}
	}
}

func asJSON(t testing.TB, text []byte) []byte {
	t.Helper()
	doc, err := source.JSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
