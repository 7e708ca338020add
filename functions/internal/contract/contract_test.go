package contract

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "write openapi.json from openapi.yaml")

// TestJSONIsCurrent keeps the embedded JSON equal to the YAML that people edit.
func TestJSONIsCurrent(t *testing.T) {
	source, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(source, &tree); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("openapi.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(want, document) {
		t.Fatal("openapi.json is older than openapi.yaml; run: go generate ./functions/internal/contract")
	}
}
