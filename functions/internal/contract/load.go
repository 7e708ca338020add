package contract

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// File is the name of a merged contract: beside the binary in a function's zip, and in dist.
const File = "contract.json"

// FileVariable names a merged contract that a function reads outside Lambda. In Lambda it reads
// the one in its zip, whatever the variable says.
const FileVariable = "SEKISHO_CONTRACT"

var (
	//go:embed contract.json
	document []byte
	//go:embed base.yaml
	base []byte
	//go:embed tools.yaml
	toolsYAML []byte
	//go:embed base.sha256
	baseHash string
)

var parseDefault = sync.OnceValues(func() (*API, error) { return Parse(document) })

// Default is the contract of the default stack. It is decoded once and shared, so callers must
// not change it.
func Default() (*API, error) { return parseDefault() }

// Document is the contract of the default stack, as JSON.
func Document() []byte { return bytes.Clone(document) }

// Tools is the contract of the default stack's tools, as YAML; see Merge.
func Tools() []byte { return bytes.Clone(toolsYAML) }

// Base is the service's own part of every contract, as YAML; see Merge.
func Base() []byte { return bytes.Clone(base) }

// loaded has the contract of each file that was asked for.
var loaded sync.Map // path → func() (*API, error)

// Load returns the contract that a function serves: in Lambda the one in its zip, and nothing
// in its place; elsewhere the file that FileVariable names, or else the default one. It is
// decoded once and shared, so callers must not change it.
func Load(env func(variable string) string) (*API, error) {
	path := env(FileVariable)
	if root := env("LAMBDA_TASK_ROOT"); root != "" {
		path = filepath.Join(root, File)
	}
	if path == "" {
		return Default()
	}
	read, _ := loaded.LoadOrStore(path, sync.OnceValues(func() (*API, error) { return readFile(path) }))
	return read.(func() (*API, error))()
}

func readFile(path string) (*API, error) {
	doc, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("contract: there is no %s beside the function: run `make build`, and deploy the zips that it makes", path)
	}
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	return Read(path, doc)
}

// Read reads a merged contract, which must have been merged with this program's base. path is for
// the error.
func Read(path string, doc []byte) (*API, error) {
	api, err := Parse(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if own := strings.TrimSpace(baseHash); api.base != own {
		return nil, fmt.Errorf("contract: %s was merged with another base (%s) than this program has (%s): run `make build`, and deploy zip and contract together", path, cmp.Or(api.base, "none"), own)
	}
	return api, nil
}
