// Package repository finds the checkout that tests run in, and runs its scripts.
package repository

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root returns the top of the repository that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for start := dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above %s", start)
		}
	}
}

// Script runs one of scripts/ and returns what it prints, without the last line break. The error holds
// what a script that fails says.
func Script(name string, args ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	out, err := exec.Command(filepath.Join(root, "scripts", name), args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return "", fmt.Errorf("scripts/%s: %w: %s", name, err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return "", fmt.Errorf("scripts/%s: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}
