package moto

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServerAnswersUntilItIsStopped(t *testing.T) {
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	res, err := http.Get(s.Endpoint + "/moto-api/data.json")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
	s.Stop()
	if res, err := http.Get(s.Endpoint + "/moto-api/data.json"); err == nil {
		_ = res.Body.Close()
		t.Errorf("still answers with %d after it was stopped", res.StatusCode)
	}
}

func TestMissingServerSaysWhatToDo(t *testing.T) {
	t.Setenv("SEKISHO_MOTO_SERVER", filepath.Join(t.TempDir(), "absent"))
	_, err := Start()
	if err == nil || !strings.Contains(err.Error(), "SEKISHO_MOTO_SERVER") {
		t.Errorf("error %v, want one that names the variable", err)
	}
}

func TestFailingServerIsQuoted(t *testing.T) {
	program := filepath.Join(t.TempDir(), "moto_server")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no luck >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SEKISHO_MOTO_SERVER", program)
	_, err := Start()
	if err == nil || !strings.Contains(err.Error(), "no luck") {
		t.Errorf("error %v, want what the program said", err)
	}
}
