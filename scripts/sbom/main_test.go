package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

const root = "../.."

// TestLicences: whatever is linked into a zip or into the program is under an allowed licence.
func TestLicences(t *testing.T) {
	all, err := programs(root)
	if err != nil {
		t.Fatal(err)
	}
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(all) != len(mains)+1 {
		t.Fatalf("%d programs, want the %d functions and the command line; %v", len(all), len(mains), err)
	}
	for _, p := range all {
		linked, err := p.linked(root)
		if err != nil {
			t.Fatal(err)
		}
		if len(linked) < 3 {
			t.Errorf("%s: only %v", p.name, linked)
		}
		for _, c := range linked {
			if err := c.check(); err != nil {
				t.Errorf("%s: %v", p.name, err)
			}
		}
	}
}

// TestWhatIsLinked: a bill of materials names the modules that the linker wrote into the binary, at
// their versions.
func TestWhatIsLinked(t *testing.T) {
	p := program{"settle", "sekisho/functions/settle"}
	binary := filepath.Join(t.TempDir(), p.name)
	build := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", binary, p.path)
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + info.GoVersion[len("go"):]}
	for _, m := range info.Deps {
		want = append(want, "pkg:golang/"+m.Path+"@"+m.Version)
	}
	linked, err := p.linked(root)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(document(p.name, "v1", linked))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct{ Components []struct{ Purl string } }
	if err := json.Unmarshal(raw, &bom); err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, c := range bom.Components {
		have = append(have, c.Purl)
	}
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("the bill says\n%q, the binary\n%q", have, want)
	}
}

// TestEmbedded: what the page serves of others is in the bill, at the version that the file names.
func TestEmbedded(t *testing.T) {
	uplot := embedded[0]
	static := filepath.Join(root, uplot.dir, "static")
	files, err := filepath.Glob(filepath.Join(static, "*.js"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	released := regexp.MustCompile(`^/\*!`) // minifiers keep the banner of a release
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		others := filepath.Base(file) == "uplot.js"
		if released.Match(text) != others || others && !bytes.Contains(text, []byte("(v"+uplot.version+")")) {
			t.Errorf("%s starts with %q; the bill has %s %s only", file, text[:min(len(text), 60)], uplot.name, uplot.version)
		}
	}
	license, err := os.ReadFile(filepath.Join(static, "uplot-license.txt"))
	if err != nil || !slices.Equal(identify(string(license)), uplot.licences) {
		t.Errorf("uPlot's licence is %v, %v; the bill says %v", identify(string(license)), err, uplot.licences)
	}
	readme, err := os.ReadFile(filepath.Join(root, "scripts", "data", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range embedded[1:] {
		if !regexp.MustCompile(regexp.QuoteMeta(filepath.Base(e.name)) + "` " + regexp.QuoteMeta(e.version)).Match(readme) {
			t.Errorf("scripts/data/README.md does not have %s %s", e.name, e.version)
		}
	}
}

func TestIdentify(t *testing.T) {
	const bsd = "Redistribution and use in source and binary forms, with or without modification, are permitted"
	const mit = "Permission is hereby granted, free of charge, to deal without restriction"
	for text, want := range map[string][]string{
		bsd: {"BSD-2-Clause"},
		bsd + " nor to endorse or promote products": {"BSD-3-Clause"},
		mit: {"MIT-0"},
		mit + ". The above copyright notice and this\n permission notice shall be included in all copies": {"MIT"},
		"Apache License\n  Version 2.0, January 2004":                                                     {"Apache-2.0"},
		"Mozilla Public License, version 2.0":                                                             {"MPL-2.0"},
		"GNU LESSER GENERAL PUBLIC LICENSE":                                                               {"GPL"},
		"All rights reserved":                                                                             nil,
	} {
		if got := identify(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if c := (component{name: "m", licences: identify(text)}); (c.check() == nil) != (want != nil && want[0] != "GPL") {
			t.Errorf("%q: %v", text, c.check())
		}
	}
}
