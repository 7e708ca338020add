package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		`plain "東京" \ é 👍`:   `plain "東京" \ é 👍`,
		"\x1b[2J":            `\x1b[2J`,
		"\u009b31m":          `\u009b31m`,
		"a\tb\nc\rd":         `a\tb\nc\rd`,
		"\u202egnp.exe":      `\u202egnp.exe`,
		"zero\u200bwidth":    `zero\u200bwidth`,
		"line\u2028break":    `line\u2028break`,
		"\xff\xe6\x9d":       `\xff\xe6\x9d`,
		"tag \U000e0041 end": `tag \U000e0041 end`,
		"\x7f":               `\x7f`,
	} {
		if got := printable(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestTerminalInPieces: however writes cut the text, it comes out the same.
func TestTerminalInPieces(t *testing.T) {
	const text, want = "東京\x1b[2J👍\u009b\r\n\tend", `東京\x1b[2J👍\u009b` + "\r\n\tend"
	for size := 1; size < len(text); size++ {
		var out bytes.Buffer
		w := &terminal{to: &out}
		for rest := []byte(text); len(rest) > 0; {
			n := min(size, len(rest))
			if wrote, err := w.Write(rest[:n]); err != nil || wrote != n {
				t.Fatalf("wrote %d of %d, %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}

// hostile is a name that clears the screen, adds a row to a table and a cell to a row.
const hostile = "\x1b[2J\nkey_forged\tadmin\t\u009b31m"

// TestStoredTextsDoNotReachTheTerminal: names are checked when a key is made, but stores may hold
// older ones. Every command that shows them is safe.
func TestStoredTextsDoNotReachTheTerminal(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	key := account.Key{ID: "key_real", Meter: "key_real", UserID: "user" + hostile, Name: hostile, CreatedAt: time.Now()}
	if err := db.Accounts().CreateUser(t.Context(), account.User{ID: key.UserID, Plan: "free" + hostile}); err != nil {
		t.Fatal(err)
	}
	if err := db.Accounts().CreateKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	if _, err := db.Usage().Admit(t.Context(), usage.Admission{
		ID: usage.NewAdmissionID(at), At: at, Meter: key.Meter, Operation: "pl", Units: 1, Limits: usage.PerMonth(10),
	}); err != nil {
		t.Fatal(err)
	}
	st := &stores{Store: db}
	if _, err := signIn(t.Context(), st, key.UserID, grant.Client{ID: hostile, Name: hostile, Host: hostile}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"keys list", "keys list --json", "keys list --grants", "keys list --grants --json", "usage", "usage --format csv", "usage --format json",
		"usage export", "usage export --format json", "keys rotate key_real",
	} {
		var out, errors bytes.Buffer
		code := run(context.Background(), append(strings.Fields(command), "--data", dir), streams{&out, &errors, func(string) string { return "" }})
		if code != exitOK || !strings.Contains(out.String(), "key_real") && command != "keys rotate key_real" {
			t.Errorf("%s: exit code %d, %s%s", command, code, out.String(), errors.String())
		}
		for _, bad := range []string{"\x1b", "\u009b", "\nkey_forged", "\tadmin"} {
			if strings.Contains(out.String()+errors.String(), bad) {
				t.Errorf("%s: %q reaches the terminal in %q", command, bad, out.String())
			}
		}
		if strings.Contains(command, "json") && !json.Valid(out.Bytes()) {
			t.Errorf("%s: no JSON: %s", command, out.String())
		}
	}
	var out bytes.Buffer
	if err := showBrake(&out, brake.Status{State: "on", Why: hostile, Functions: []brake.FunctionStatus{{Name: "f" + hostile}}}, &brakeTarget{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), "\nkey_forged") {
		t.Errorf("brake status: %q", out.String())
	}
}
