package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
	"sekisho/functions/internal/mcpserver"
)

// contractCmd merges a contract of tools with the service's own, as `make build` does.
type contractCmd struct {
	File string `arg:"" optional:"" help:"A contract of tools, in YAML or JSON; by default the tools of this repository." placeholder:"FILE"`
	Out  string `short:"o" help:"Write the merged contract to this file, and print what is in it; by default it is printed." placeholder:"FILE"`
}

func (c contractCmd) Run(s streams) error {
	doc, err := mergedContract(c.File)
	if err != nil {
		return badUsage(err)
	}
	if c.Out == "" {
		_, err := s.out.Write(doc)
		return err
	}
	if err := replaceFile(c.Out, doc, 0o644); err != nil {
		return badUsage(err)
	}
	api, err := contract.Parse(doc)
	if err != nil {
		return err
	}
	return describe(s.out, c.Out, api)
}

// describe says what people may not expect of a contract: what it is made of, and what shares a
// greedy path.
func describe(w io.Writer, file string, api *contract.API) error {
	fmt.Fprintf(w, "%s: %d operations, %d of them tools, of %s\n", file, len(api.Operations), len(api.Tools()), strings.Join(api.Functions(), ", "))
	sharing := map[string]int{}
	var paths []string
	for _, op := range api.Operations {
		if op.Shared() {
			if sharing[op.Resource]++; sharing[op.Resource] == 1 {
				paths = append(paths, op.Resource)
			}
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		fmt.Fprintf(w, "%s: %d operations, which API Gateway sees as one path\n", path, sharing[path])
	}
	return nil
}

// mergedContract is the default contract where no file is named, a merged one as it is, and
// a contract of tools with the service's own.
func mergedContract(file string) ([]byte, error) {
	if file == "" {
		return contract.Document(), nil
	}
	doc, err := source.Read(file)
	if err != nil {
		return nil, err
	}
	var merged struct {
		Base string `json:"x-sekisho-base"`
	}
	if err := json.Unmarshal(doc, &merged); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if merged.Base != "" {
		_, err := contract.Read(file, doc)
		return doc, err
	}
	if doc, err = ownContract(doc); err == nil {
		doc, err = mcpserver.Measured(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return doc, nil
}

// contractFlag names a contract for commands that read one.
type contractFlag struct {
	Contract string `help:"Your contract: the file that you built with, or dist/contract.json; by default that of 'sekisho up' in the data directory, else the tools of this repository." env:"SEKISHO_CONTRACT" placeholder:"FILE"`
}

// load reads the contract. data is a laptop's directory, "" where there is none.
func (f contractFlag) load(data string) (*contract.API, error) {
	file := f.Contract
	if file == "" && data != "" {
		kept := filepath.Join(data, contract.File)
		if _, err := os.Stat(kept); err == nil {
			file = kept
		}
	}
	doc, err := mergedContract(file)
	if err != nil {
		return nil, badUsage(err)
	}
	return contract.Parse(doc)
}

// keep writes a contract into the data directory, for the functions and for later commands, and
// returns its file. The default contract is in the program: its file is "".
func keep(data string, doc []byte) (file string, err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", badUsage(fmt.Errorf("data directory: %w; choose a writable one with --data", err))
	}
	file = filepath.Join(data, contract.File)
	if !bytes.Equal(doc, contract.Document()) {
		return file, badUsage(replaceFile(file, doc, 0o644))
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", badUsage(err)
	}
	return "", nil
}

// replaceFile writes a file as a whole or not at all.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
