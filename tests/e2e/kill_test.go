package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/tests/midnight"
	"sekisho/tests/program"
)

// tally is what callers did and saw, or what the access log says.
type tally struct{ tried, succeeded, failed int64 }

// kills is how often TestKilled kills the service: SEKISHO_KILLS, by default 4. `make prove` has
// it 50 times.
func kills(t *testing.T) int {
	text := cmp.Or(os.Getenv("SEKISHO_KILLS"), "4")
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("SEKISHO_KILLS is %q: give a whole number of 1 or more", text)
	}
	return n
}

// TestKilled: a service that is killed among failing calls, many times, starts again, counts no
// less than what succeeded and no more than what was tried, and gives each failure back exactly
// once.
func TestKilled(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	n := kills(t)
	midnight.Avoid(t, time.Duration(n+5)*time.Second)
	var seen tally
	key := ""
	for round := range n {
		s := binary.Up(t, nil, data, "--plan", "roomy=unlimited")
		if round == 0 {
			key = s.Keys["roomy"]
		}
		killWhileCalling(t, s, key, &seen)
		// The commands open the database that the kill left behind, before any start mends it.
		used, refunded := usage(t, data)
		logged := accessLog(t, data)
		if used < seen.succeeded || used+refunded > seen.tried || refunded > logged.failed {
			t.Fatalf("kill %d: %d used, %d given back; callers saw %+v, the access log has %+v", round+1, used, refunded, seen, logged)
		}
	}
	logged := accessLog(t, data)
	if logged.failed < seen.failed || logged.succeeded < seen.succeeded || seen.failed == 0 || seen.succeeded == 0 {
		t.Errorf("callers saw %+v, the access log has %+v: an answer went out before its record", seen, logged)
	}
	for range 3 { // it stays so, however often it starts, and whether it remembers how far it was
		s := binary.Up(t, nil, data)
		used, refunded := usage(t, data)
		if refunded != logged.failed {
			t.Errorf("%d given back, and %d failed", refunded, logged.failed)
		}
		if used < logged.succeeded || used+refunded > seen.tried {
			t.Errorf("%d used; want at least the %d that succeeded, and with the %d given back at most the %d tried", used, logged.succeeded, refunded, seen.tried)
		}
		s.Stop()
		os.Remove(filepath.Join(data, "settled.json"))
		t.Logf("%d used, %d given back; callers saw %+v, the access log has %+v", used, refunded, seen, logged)
	}
}

// killWhileCalling has eight callers call, half of the calls failing, and kills the service.
func killWhileCalling(t *testing.T, s *program.Service, key string, seen *tally) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var callers sync.WaitGroup
	enough := make(chan struct{})
	answers := 0
	for i := range 8 {
		callers.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				code := []string{"1000001", "0000000"}[n%2]
				request, _ := http.NewRequestWithContext(ctx, "GET", s.APIURL+"/v1/postal/"+code, nil)
				request.Header.Set("x-api-key", key)
				mu.Lock()
				seen.tried++
				mu.Unlock()
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					return // the service is gone
				}
				response.Body.Close()
				mu.Lock()
				switch response.StatusCode {
				case http.StatusOK:
					seen.succeeded++
				case http.StatusNotFound:
					seen.failed++
				default:
					t.Errorf("status %d", response.StatusCode)
				}
				if answers++; answers == 120 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(30 * time.Second):
		t.Error("no 120 answers within 30 s")
	}
	s.Kill()
	cancel()
	callers.Wait()
}

// accessLog counts the admitted calls that the access log has.
func accessLog(t *testing.T, data string) (logged tally) {
	t.Helper()
	file, err := os.Open(filepath.Join(data, "access.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var record struct {
			Status    string `json:"status"`
			Admission string `json:"admission_id"`
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Errorf("%v in %s", err, lines.Bytes())
		}
		switch {
		case !strings.HasPrefix(record.Admission, "adm_"):
		case record.Status == "200":
			logged.succeeded++
		default:
			logged.failed++
		}
	}
	return logged
}

func usage(t *testing.T, data string) (used, refunded int64) {
	t.Helper()
	var keys []struct{ Used, Refunded int64 }
	if err := json.Unmarshal([]byte(binary.On(nil, "--data", data)(t, "usage", "--format", "json")), &keys); err != nil || len(keys) != 1 {
		t.Fatalf("%v, %+v", err, keys)
	}
	return keys[0].Used, keys[0].Refunded
}

// TestStoppedDuringACall: Ctrl-C with a call running that takes longer than a stop waits. Its
// caller is answered, its unit is given back, and all is well.
func TestStoppedDuringACall(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := binary.Up(t, nil, data, "--plan", "roomy=10", "--backend-timeout", "20s")
	status := make(chan string, 1)
	go func() {
		request, _ := http.NewRequestWithContext(t.Context(), "GET", s.APIURL+"/v1/external/stats/delay-20", nil)
		request.Header.Set("x-api-key", s.Keys["roomy"])
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			status <- err.Error()
			return
		}
		response.Body.Close()
		status <- fmt.Sprint(response.StatusCode)
	}()
	deadline := time.Now().Add(30 * time.Second)
	for used := int64(0); used == 0; used, _ = usage(t, data) { // until it is admitted
		if time.Now().After(deadline) {
			t.Fatal("the call was not admitted within 30 s")
		}
		time.Sleep(50 * time.Millisecond)
	}
	began := time.Now()
	s.Stop()
	t.Logf("stopped after %s, the caller got %s", time.Since(began).Round(100*time.Millisecond), <-status)
	if used, refunded := usage(t, data); used != 0 || refunded != 1 {
		t.Errorf("%d used, %d given back; want 0 and 1", used, refunded)
	}
	log, err := os.ReadFile(filepath.Join(data, "log.jsonl"))
	if err != nil || slices.ContainsFunc(strings.Split(string(log), "\n"), func(line string) bool { return strings.Contains(line, "already closed") }) {
		t.Errorf("%v, or a write came too late", err)
	}
}
