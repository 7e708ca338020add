package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
)

// TestListing: what is measured is what is sent, byte by byte.
func TestListing(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	for names, mode := range map[mcpserver.ToolNames]mcpserver.ListMode{mcpserver.Canonical: mcpserver.ListAll, mcpserver.Underscore: mcpserver.ListSearch} {
		list, err := mcpserver.Listing(api, names, mode)
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, func(c *mcpserver.Config) { c.ToolNames, c.Listing = names, mode })
		var sent struct {
			Result struct{ Tools []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(w.post(legacy("tools/list", "")).Body), &sent); err != nil {
			t.Fatal(err)
		}
		if len(sent.Result.Tools) != len(list) || len(list) == 0 {
			t.Fatalf("%s: %d tools sent, %d listed", names, len(sent.Result.Tools), len(list))
		}
		for i, l := range list {
			if string(sent.Result.Tools[i]) != string(l.Entry) {
				t.Errorf("%s: sent\n%s\nlisted\n%s", l.Name, sent.Result.Tools[i], l.Entry)
			}
			var prompt struct {
				Name        string
				Description string
				InputSchema map[string]any `json:"input_schema"`
			}
			if err := json.Unmarshal(l.Prompt, &prompt); err != nil || prompt.Name != l.Name || prompt.Description == "" || prompt.InputSchema["type"] != "object" {
				t.Errorf("%s: %v in %s", l.Name, err, l.Prompt)
			}
		}
	}
}

// TestListedIsCurrent keeps the embedded contract's figures of tools equal to what is sent.
func TestListedIsCurrent(t *testing.T) {
	have := contract.Document()
	want, err := mcpserver.Measured(have)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("../contract", contract.File), want, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !bytes.Equal(have, want) {
		t.Error("what tools take of a list is out of date; run: go generate ./functions/internal/contract")
	}
}
