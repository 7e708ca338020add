// Package stack applies the repository's Terraform in tests: a copy of its files, the
// commands, and what was applied in Go types.
package stack

import (
	"archive/zip"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Contract is where the default contract lies in a checkout, as `make build` would merge it, Prices the table of prices, and
// Most what one request can come to.
const (
	Contract = "functions/internal/contract/contract.json"
	Prices   = "functions/internal/money/price/prices.json"
	Most     = "functions/internal/money/worstcase/most.json"
)

// Checkout copies what Terraform reads of the repository at root into dir, so that a test
// leaves no state behind and can change a file.
func Checkout(root, dir string) error {
	files, err := terraformFiles(root)
	if err != nil {
		return err
	}
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func terraformFiles(root string) ([]string, error) {
	files := []string{Contract, Prices, Most}
	top, err := filepath.Glob(filepath.Join(root, "*.tf"))
	if err != nil {
		return nil, err
	}
	for _, name := range append(top, filepath.Join(root, ".terraform.lock.hcl")) {
		files = append(files, filepath.Base(name))
	}
	for _, tree := range []string{"modules", "envs"} {
		err := filepath.WalkDir(filepath.Join(root, tree), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == ".terraform":
				return fs.SkipDir
			case entry.IsDir() || !slices.Contains([]string{".tf", ".tfvars", ".hcl", ".md"}, filepath.Ext(path)):
				return nil
			}
			name, err := filepath.Rel(root, path)
			files = append(files, name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// Functions lists the functions of the stack described in the checkout dir: those that serve
// operations of its contract, and those of its table.
func Functions(dir string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, Contract))
	if err != nil {
		return nil, err
	}
	var contract struct {
		Paths map[string]map[string]struct {
			Sekisho struct {
				Function string `json:"function"`
			} `json:"x-sekisho"`
		} `json:"paths"`
		Table map[string]any `json:"x-sekisho-functions"`
	}
	if err := json.Unmarshal(raw, &contract); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	delete(contract.Table, "default")
	names := slices.Collect(maps.Keys(contract.Table))
	for _, item := range contract.Paths {
		for _, operation := range item {
			if operation.Sekisho.Function != "" {
				names = append(names, operation.Sekisho.Function)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// PlaceholderZips writes a zip for each function's program into dist, and the contract of the checkout
// that they would hold: Terraform needs them to be there, and the emulator runs none.
func PlaceholderZips(checkout, dist string, functions []string) error {
	contract, err := os.ReadFile(filepath.Join(checkout, Contract))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, "contract.json"), contract, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dist, "contract.sha256"), fmt.Appendf(nil, "%x\n", sha256.Sum256(contract)), 0o644); err != nil {
		return err
	}
	var described struct {
		Table map[string]struct{ Binary string } `json:"x-sekisho-functions"`
	}
	if err := json.Unmarshal(contract, &described); err != nil {
		return fmt.Errorf("read the contract: %w", err)
	}
	for _, name := range functions {
		name = cmp.Or(described.Table[name].Binary, name)
		if err := placeholder(filepath.Join(dist, name+".zip"), name); err != nil {
			return fmt.Errorf("write a zip for %s: %w", name, err)
		}
	}
	return nil
}

func placeholder(path, name string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	w, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := strings.NewReader("#!/bin/sh\n# stands for " + name + "\n").WriteTo(w); err != nil {
		return err
	}
	return archive.Close()
}
