package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// allowed are the licences of what may be shipped: they ask for their text to be passed on, and
// not for the source of what they are linked into.
var allowed = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "Unlicense", "blessing"}

// check refuses a component without a licence, or with one that is not allowed.
func (c component) check() error {
	if len(c.licences) == 0 {
		return fmt.Errorf("%s %s has no licence that is known here", c.name, c.version)
	}
	for _, id := range c.licences {
		if !slices.Contains(allowed, id) {
			return fmt.Errorf("%s %s is under %s, which is not an allowed licence", c.name, c.version, id)
		}
	}
	return nil
}

// licencesFor are those of a package: of the nearest directory that has any, up to its module.
func licencesFor(dir, module string) ([]string, error) {
	for {
		found, err := licencesIn(dir)
		if err != nil || len(found) > 0 || dir == module {
			return found, err
		}
		up := filepath.Dir(dir)
		if len(up) < len(module) {
			return nil, fmt.Errorf("%s is not in %s", dir, module)
		}
		dir = up
	}
}

// licenceFile matches the names of licences' texts, and not those of what only speaks of them: a
// summary, a list of what tests use, the terms of a logo.
var (
	licenceFile  = regexp.MustCompile(`(?i)^(licen[cs]e|copying|unlicense)([.-].*)?$`)
	aboutLicence = regexp.MustCompile(`(?i)summary|3rd-party|logo|\.sh$|\.go$`)
)

func licencesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || aboutLicence.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		ids := identify(string(text))
		if len(ids) == 0 {
			ids = []string{"unknown: " + e.Name()}
		}
		found = append(found, ids...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// identify finds licences in a text by words that only they have. One file may hold several.
func identify(text string) (ids []string) {
	words := strings.Join(strings.Fields(text), " ")
	has := func(parts ...string) bool {
		for _, part := range parts {
			if !strings.Contains(words, part) {
				return false
			}
		}
		return true
	}
	add := func(id string, found bool) {
		if found {
			ids = append(ids, id)
		}
	}
	mit := has("Permission is hereby granted, free of charge", "without restriction")
	kept := has("permission notice shall be included in")
	bsd := has("Redistribution and use in source and binary forms, with or without modification")
	named := has("endorse or promote products")
	add("GPL", has("GNU GENERAL PUBLIC LICENSE") || has("GNU LESSER GENERAL PUBLIC LICENSE") || has("GNU AFFERO GENERAL PUBLIC LICENSE"))
	add("SSPL-1.0", has("Server Side Public License"))
	add("BUSL-1.1", has("Business Source License"))
	add("Apache-2.0", has("Apache License") && (has("Version 2.0, January 2004") || has("Version 2.0 (the \"License\")")))
	add("MPL-2.0", has("Mozilla Public License") && has("2.0"))
	add("MIT", mit && kept)
	add("MIT-0", mit && !kept)
	add("BSD-3-Clause", bsd && named)
	add("BSD-2-Clause", bsd && !named)
	add("ISC", has("Permission to use, copy, modify, and") && has("distribute this software for any purpose"))
	add("Unlicense", has("This is free and unencumbered software released into the public domain"))
	add("blessing", has("disclaims copyright to this source code") || has("May you do good and not evil") || has("SQLite Is Public Domain"))
	return ids
}
