package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write what openapi.yaml and openapi.json hold of other packages, and of each other")

// lastWritten ends the part of openapi.yaml that people write.
const lastWritten = "Don't edit it.\n"

// TestDescriptionIsCurrent keeps the generated end of openapi.yaml equal to the packages that
// it is made of, and the embedded JSON equal to the YAML.
func TestDescriptionIsCurrent(t *testing.T) {
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	written, _, found := bytes.Cut(source, []byte(lastWritten))
	if !found {
		t.Fatalf("openapi.yaml has no line that ends in %q", lastWritten)
	}
	wantYAML := bytes.Join([][]byte{written, []byte(lastWritten), generated(t, written)}, nil)
	wantJSON := asJSON(t, wantYAML)
	if *update {
		for name, content := range map[string][]byte{"openapi.yaml": wantYAML, "openapi.json": wantJSON} {
			if err := os.WriteFile(name, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if !bytes.Equal(wantYAML, source) || !bytes.Equal(wantJSON, document) {
		t.Fatal("openapi.yaml or openapi.json is out of date; run: go generate ./functions/internal/contract")
	}
}

func asJSON(t *testing.T, source []byte) []byte {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal(source, &tree); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return append(encoded, '\n')
}
