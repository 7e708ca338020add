package laptop_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/functions/internal/laptop"
)

// TestFindRunning: what is not the service of the directory is not taken for it, and what can't
// be told is not taken for nothing.
func TestFindRunning(t *testing.T) {
	s := startWithBrake(t, nil)
	another := httptest.NewServer(http.NotFoundHandler())
	defer another.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() { // a program that does not speak HTTP
		for connection, err := silent.Accept(); err == nil; connection, err = silent.Accept() {
			connection.Write([]byte("220 ready\r\n"))
			connection.Close()
		}
	}()
	for name, c := range map[string]struct {
		base, token, says string
		found             bool
	}{
		"the service":            {s.base, localToken, "", true},
		"the next one":           {s.base, "token of the last one", "", false},
		"another program":        {another.URL, localToken, "", false},
		"nobody":                 {"http://" + closed.Addr().String(), localToken, "", false},
		"something else":         {"http://" + silent.Addr().String(), localToken, "if no service runs", false},
		"a file without address": {"", localToken, "can't be read", false},
	} {
		data := t.TempDir()
		remove, err := laptop.Running{Base: c.base, Token: c.token}.Publish(data)
		if err != nil {
			t.Fatal(err)
		}
		_, found, err := laptop.FindRunning(t.Context(), data)
		if found != c.found || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: found %t, %v; want %t, %q", name, found, err, c.found, c.says)
		}
		remove()
		if _, found, err := laptop.FindRunning(t.Context(), data); found || err != nil {
			t.Errorf("%s: afterwards: %t, %v", name, found, err)
		}
	}
	// What a later service has published, an earlier one leaves alone.
	data := t.TempDir()
	remove, _ := laptop.Running{Base: s.base, Token: "first"}.Publish(data)
	if _, err := (laptop.Running{Base: s.base, Token: "second"}).Publish(data); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(filepath.Join(data, "service.json")); err != nil {
		t.Error(err)
	}
}
