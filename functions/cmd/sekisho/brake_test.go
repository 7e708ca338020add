package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/brake"
)

// runUp runs `sekisho up` until the test ends or stop is called, and returns where it is.
func runUp(t *testing.T, data string, flags ...string) (base, key string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"up", "--json", "--listen", "127.0.0.1:0", "--data", data}, flags...), streams{writer, &errs, os.Getenv})
		writer.Close()
	}()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		select {
		case c := <-code:
			if c != 0 {
				t.Errorf("up: exit code %d: %s", c, errs.String())
			}
		case <-time.After(time.Minute):
			t.Error("up did not end within a minute")
		}
	}
	t.Cleanup(stop)
	var ready struct {
		Base string            `json:"api_url"`
		Keys map[string]string `json:"keys"`
	}
	if err := json.NewDecoder(reader).Decode(&ready); err != nil {
		t.Fatalf("up: %v: %s", err, errs.String())
	}
	return ready.Base, ready.Keys["free"], stop
}

func brakeStatus(t *testing.T, args ...string) brake.Status {
	t.Helper()
	out, errs, code := sekisho(t, append([]string{"brake"}, args...)...)
	var status brake.Status
	if code != 0 || json.Unmarshal([]byte(out), &status) != nil {
		t.Fatalf("%v: exit code %d: %s%s", args, code, out, errs)
	}
	return status
}

func ceilingsOf(status brake.Status) string {
	var list []string
	for _, f := range status.Functions {
		if !slices.Contains([]string{"calendar", "convert", "external", "mcp", "postal"}, f.Name) {
			continue // whatever else the contract has
		}
		list = append(list, f.Name+" "+ceiling(f.Before)+" "+ceiling(f.Now))
	}
	return strings.Join(list, ", ")
}

func statusCode(t *testing.T, url, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// TestBrakeOnALaptop: commands reach the service of another process, and work on the data
// alone while none runs.
func TestBrakeOnALaptop(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	reserved := []string{"--reserved", "external=5", "--reserved", "convert=0"}
	base, key, stop := runUp(t, data, reserved...)
	const running = "calendar - unreserved, convert - 0, external - 5, mcp - unreserved, postal - unreserved"
	const stopped = "calendar unreserved 0, convert 0 0, external 5 0, mcp unreserved 0, postal unreserved 0"

	if s := brakeStatus(t, "status", "--json", "--data", data); s.On || s.State != "off" || ceilingsOf(s) != running {
		t.Errorf("before: %+v, %s", s, ceilingsOf(s))
	}
	if s := brakeStatus(t, "on", "--json", "--data", data, "--reason", "drill"); !s.On || ceilingsOf(s) != stopped || s.Why != "Put on by hand: drill" {
		t.Errorf("on: %+v, %s", s, ceilingsOf(s))
	}
	if code := statusCode(t, base+"/v1/postal/1000001", key); code != http.StatusTooManyRequests {
		t.Errorf("a call answers %d, want 429", code)
	}
	out, _, code := sekisho(t, "brake", "status", "--data", data)
	for _, part := range []string{"The brake is on since ", "Closed, at a throttle of 0: ", "GET /v1/postal/{postal_code}", "Why: Put on by hand: drill", "external  5           0", "To release it: sekisho brake off --data " + data} {
		if code != 0 || !strings.Contains(out, part) {
			t.Errorf("exit code %d, the status lacks %q: %s", code, part, out)
		}
	}
	if s := brakeStatus(t, "off", "--json", "--data", data); s.On || s.State != "off" || ceilingsOf(s) != running {
		t.Errorf("off: %+v, %s", s, ceilingsOf(s))
	}
	killed, err := os.ReadFile(filepath.Join(data, "service.json"))
	if err != nil {
		t.Fatal(err)
	}
	stop()

	if _, err := os.Stat(filepath.Join(data, "service.json")); err == nil {
		t.Error("a service that has stopped can still be found")
	}
	if err := os.WriteFile(filepath.Join(data, "service.json"), killed, 0o600); err != nil {
		t.Fatal(err)
	}
	if s := brakeStatus(t, "on", "--json", "--data", data); !s.On || s.State != "braking" {
		t.Errorf("on, without a service: %+v", s)
	}
	_, _, stop = runUp(t, data, reserved...)
	if s := brakeStatus(t, "status", "--json", "--data", data); !s.On || s.State != "on" || ceilingsOf(s) != stopped {
		t.Errorf("after the start: %+v, %s", s, ceilingsOf(s))
	}
	stop()
	if out, _, code := sekisho(t, "brake", "off", "--data", data); code != 0 || !strings.Contains(out, "The brake is off") || !strings.Contains(out, "No service runs on "+data) {
		t.Errorf("off, without a service: %d %s", code, out)
	}
}

// TestServiceFileIsPrivate: it has the token that stops the service.
func TestServiceFileIsPrivate(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, "service.json")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	runUp(t, data)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", info.Mode(), err)
	}
}

// TestAllowedOrigins: pages of the origins that were named may call /mcp and read the answer; so may
// the service's own, which needs nobody's leave to read it; and no others.
func TestAllowedOrigins(t *testing.T) {
	base, key, _ := runUp(t, t.TempDir(), "--allow-origin", "http://localhost:6274", "--allow-origin", "https://app.example.com")
	own := strings.Replace(base, "127.0.0.1", "localhost", 1)
	for origin, want := range map[string]int{
		base: 200, own: 200, "http://localhost:6274": 200, "https://app.example.com": 200, "http://localhost:6275": 403, "https://evil.example": 403,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Origin": {origin}, "X-Api-Key": {key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if allowed := response.Header.Get("Access-Control-Allow-Origin"); response.StatusCode != want || (allowed == origin) != (want == 200 && origin != base && origin != own) {
			t.Errorf("%s: %d, allowed %q, want %d", origin, response.StatusCode, allowed, want)
		}
	}
}

// TestBrakeBadUsage: exit code 2, and what to do.
func TestBrakeBadUsage(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "fresh")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no data":            {[]string{"brake", "off", "--data", fresh}, "sekisho up"},
		"a region alone":     {[]string{"brake", "off", "--region", "eu-west-1"}, "--function"},
		"no command":         {[]string{"brake"}, "status"},
		"an unknown command": {[]string{"brake", "pull"}, "pull"},
	} {
		_, errs, code := sekisho(t, c.args...)
		if code != exitUsage || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", name, code, errs, exitUsage, c.says)
		}
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a command made a directory")
	}
}
