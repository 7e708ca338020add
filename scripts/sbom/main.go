// Command sbom writes what is linked into each Lambda function and into the sekisho program, with
// licences, as CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json): one NAME.cdx.json each.
//
//	sbom DIRECTORY VERSION
//
// It fails if something is linked whose licence is not an allowed one.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: sbom DIRECTORY VERSION")
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	all, err := programs(".")
	if err != nil {
		return err
	}
	var refused error
	for _, p := range all {
		linked, err := p.linked(".")
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, c := range linked {
			if err := c.check(); err != nil {
				refused = errors.Join(refused, fmt.Errorf("%s: %w", p.name, err))
			}
		}
		bom, err := json.MarshalIndent(document(p.name, args[1], linked), "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(args[0], p.name+".cdx.json"), append(bom, '\n'), 0o644); err != nil {
			return err
		}
		fmt.Printf("%-12s %3d components\n", p.name, len(linked))
	}
	return refused
}

type entry map[string]any

// document is a bill of materials. It has no time and no serial number, so that the same source
// gives the same bytes.
func document(name, version string, linked []component) entry {
	list := []entry{}
	for _, c := range linked {
		var licences []entry
		for _, id := range c.licences {
			licences = append(licences, entry{"license": entry{"id": id}})
		}
		list = append(list, entry{
			"type": c.kind, "bom-ref": c.url(), "name": c.name, "version": c.version, "purl": c.url(), "licenses": licences,
		})
	}
	return entry{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"metadata":   entry{"component": entry{"type": "application", "bom-ref": name, "name": name, "version": version}},
		"components": list,
	}
}
