package e2e_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
		killWhileCalling(t, s, &seen, func(ctx context.Context, code string) (int, error) {
			request, _ := http.NewRequestWithContext(ctx, "GET", s.APIURL+"/v1/postal/"+code, nil)
			request.Header.Set("x-api-key", key)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return 0, err
			}
			return response.StatusCode, response.Body.Close()
		})
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

// TestKilledInDirect is TestKilled for calls that mcp dispatches itself: what it had not answered is
// given back at the next start, exactly once.
func TestKilledInDirect(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	n := kills(t)
	midnight.Avoid(t, time.Duration(n+5)*time.Second)
	var seen tally
	key := ""
	for round := range n {
		s := binary.Up(t, nil, data, "--plan", "roomy=unlimited", "--dispatch", "direct")
		if round == 0 {
			key = s.Keys["roomy"]
		}
		killWhileCalling(t, s, &seen, func(ctx context.Context, code string) (int, error) {
			return callTool(ctx, s.MCPURL, key, "postal_lookup", fmt.Sprintf(`{"postal_code":%q}`, code))
		})
		if used, refunded := usage(t, data); used < seen.succeeded || used+refunded > seen.tried {
			t.Fatalf("kill %d: %d used, %d given back; callers saw %+v", round+1, used, refunded, seen)
		}
	}
	answered, lost := dispatchedLog(t, data)
	for range 3 { // it stays so, however often it starts, and whether it remembers how far it was
		s := binary.Up(t, nil, data, "--dispatch", "direct")
		used, refunded := usage(t, data)
		if used < seen.succeeded || used > answered || refunded < seen.failed+lost || used+refunded > seen.tried {
			t.Errorf("%d used, %d given back; callers saw %+v; mcp answered %d, and %d were lost", used, refunded, seen, answered, lost)
		}
		s.Stop()
		os.Remove(filepath.Join(data, "settled-dispatched.json"))
		t.Logf("%d used, %d given back; callers saw %+v; mcp answered %d, and %d were lost", used, refunded, seen, answered, lost)
	}
}

// dispatchedLog counts the calls that mcp admitted and answered, and those that were lost with it.
func dispatchedLog(t *testing.T, data string) (answered, lost int64) {
	t.Helper()
	file, err := os.Open(filepath.Join(data, "dispatched.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	open := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct {
			Invocation string
			Record     struct{ RequestID, Status string }
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%v in %s", err, lines.Bytes())
		}
		if line.Invocation != "" {
			open[line.Invocation] = true
		} else if line.Record.Status == "success" {
			delete(open, line.Record.RequestID)
			answered++
		}
	}
	return answered, int64(len(open))
}

// callTool returns 200 for a call that went well, 404 for one that failed.
func callTool(ctx context.Context, url, key, tool, arguments string) (int, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	request, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
	request.Header.Set("x-api-key", key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(answer), `"isError":true`) {
		return response.StatusCode, err
	}
	return http.StatusNotFound, nil
}

// TestKilledDuringACall: a call that runs when the service is killed is given back at the next start.
func TestKilledDuringACall(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := binary.Up(t, nil, data, "--plan", "roomy=10", "--backend-timeout", "20s", "--dispatch", "direct")
	go func() {
		_, _ = callTool(t.Context(), s.MCPURL, s.Keys["roomy"], "external_fetch_stats", `{"resource_id":"delay-20"}`)
	}()
	awaitAdmission(t, data)
	s.Kill()
	for range 2 {
		binary.Up(t, nil, data, "--dispatch", "direct").Stop()
		if used, refunded := usage(t, data); used != 0 || refunded != 1 {
			t.Errorf("%d used, %d given back; want 0 and 1", used, refunded)
		}
	}
}

// awaitAdmission waits until the only key has used something.
func awaitAdmission(t *testing.T, data string) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for used := int64(0); used == 0; used, _ = usage(t, data) {
		if time.Now().After(deadline) {
			t.Fatal("the call was not admitted within 30 s")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// killWhileCalling has eight callers call, half of the calls failing, and kills the service. call
// returns a status.
func killWhileCalling(t *testing.T, s *program.Service, seen *tally, call func(ctx context.Context, code string) (int, error)) {
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
				mu.Lock()
				seen.tried++
				mu.Unlock()
				status, err := call(ctx, code)
				if err != nil {
					return // the service is gone
				}
				mu.Lock()
				switch status {
				case http.StatusOK:
					seen.succeeded++
				case http.StatusNotFound:
					seen.failed++
				default:
					t.Errorf("status %d", status)
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
			Status string `json:"status"`
			Gate   string `json:"gate"`
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Errorf("%v in %s", err, lines.Bytes())
		}
		switch {
		case !strings.HasPrefix(record.Gate, "admission_id="):
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
	for name, call := range map[string]func(ctx context.Context, s *program.Service) (int, error){
		"proxy": func(ctx context.Context, s *program.Service) (int, error) {
			request, _ := http.NewRequestWithContext(ctx, "GET", s.APIURL+"/v1/external/stats/delay-20", nil)
			request.Header.Set("x-api-key", s.Keys["roomy"])
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return 0, err
			}
			return response.StatusCode, response.Body.Close()
		},
		"direct": func(ctx context.Context, s *program.Service) (int, error) {
			return callTool(ctx, s.MCPURL, s.Keys["roomy"], "external_fetch_stats", `{"resource_id":"delay-20"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := t.TempDir()
			s := binary.Up(t, nil, data, "--plan", "roomy=10", "--backend-timeout", "20s", "--dispatch", name)
			answered := make(chan string, 1)
			go func() {
				status, err := call(t.Context(), s)
				answered <- fmt.Sprint(status, err)
			}()
			awaitAdmission(t, data)
			began := time.Now()
			s.Stop()
			got := <-answered
			t.Logf("stopped after %s, the caller got %s", time.Since(began).Round(100*time.Millisecond), got)
			if want := map[string]string{"proxy": "502 <nil>", "direct": "404 <nil>"}[name]; got != want {
				t.Errorf("the caller got %s, want %s", got, want)
			}
			if used, refunded := usage(t, data); used != 0 || refunded != 1 {
				t.Errorf("%d used, %d given back; want 0 and 1", used, refunded)
			}
			log, err := os.ReadFile(filepath.Join(data, "log.jsonl"))
			if err != nil || slices.ContainsFunc(strings.Split(string(log), "\n"), func(line string) bool { return strings.Contains(line, "already closed") }) {
				t.Errorf("%v, or a write came too late", err)
			}
		})
	}
}
