package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/openapi"
)

// hostNames holds that no two tools have the same name in any form that hosts give it, and that
// none is cut behind the longest prefix of a host.
func hostNames(tools []mcpserver.Listed) error {
	const most = 64 // of the APIs of models
	owner := map[string]string{}
	for _, tool := range tools {
		if n := len(contract.HostPrefix + tool.Name); n > most {
			return fmt.Errorf("%s%s has %d characters, and models take %d", contract.HostPrefix, tool.Name, n, most)
		}
		for i, form := range contract.HostNames(tool.Name) {
			form = fmt.Sprint(i, " ", form)
			if other, taken := owner[form]; taken {
				return fmt.Errorf("hosts give %s and %s the same name", other, tool.Name)
			}
			owner[form] = tool.Name
		}
	}
	return nil
}

// TestHostNames: of the contract of this repository, of one with a tool more, and of imported ones.
func TestHostNames(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	base, err := source.JSON(contract.Base())
	if err != nil {
		t.Fatal(err)
	}
	reserved, err := reservedNames(base)
	if err != nil {
		t.Fatal(err)
	}
	check := func(t *testing.T, yaml []byte) {
		t.Helper()
		tools, err := source.JSON(yaml)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := contract.Merge(base, tools)
		if err != nil {
			t.Fatal(err)
		}
		api, err := contract.Parse(merged)
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range []mcpserver.ToolNames{mcpserver.Underscore, mcpserver.Canonical} {
			list, err := mcpserver.Listing(api, names, mcpserver.ListAll)
			if err != nil || len(list) == 0 {
				t.Fatalf("%d tools: %v", len(list), err)
			}
			if err := hostNames(list); err != nil {
				t.Error(err)
			}
		}
	}
	read := func(name ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, name...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tools := read("functions", "internal", "contract", "tools.yaml")
	check(t, []byte(tools))
	for _, member := range []string{"tags", "paths"} {
		at := "\n" + member + ":\n"
		tools = strings.Replace(tools, at, at+read("tests", "newtool", "testdata", member+".yaml"), 1)
	}
	check(t, []byte(tools))
	imports := filepath.Join("functions", "internal", "openapi", "testdata")
	for _, description := range []string{
		filepath.Join("tests", "ownapi", "example", "openapi.json"),
		filepath.Join(imports, "orders.yaml"), filepath.Join(imports, "legacy.yaml"), filepath.Join(imports, "modern.json"),
	} {
		yaml, _, err := openapi.Import(t.Context(), openapi.Options{Location: filepath.Join(root, description), Reserved: reserved})
		if err != nil {
			t.Fatal(err)
		}
		check(t, yaml)
	}
}
