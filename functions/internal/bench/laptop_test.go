package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/usage"
	"sekisho/tests/bench"
	"sekisho/tests/program"
)

// bottomless is a plan that no run uses up.
var bottomless = account.Plans{"bench": usage.PerMonth(1e12)}

// service is a running `sekisho up` over a database of some size.
type service struct {
	*program.Service
	secrets []string
	client  *http.Client
}

// up fills a database and serves it.
func (r *run) up(p program.Program, keys, rows int) *service {
	r.Helper()
	data := r.TempDir()
	file := filepath.Join(data, "sekisho.db")
	db, err := sqlite.Open(r.Context(), file)
	r.must(err)
	ring := account.Keyring{Store: db.Accounts(), Plans: bottomless, Now: time.Now}
	s := &service{client: &http.Client{Transport: &http.Transport{MaxIdleConns: 64, MaxIdleConnsPerHost: 64}}}
	for n := range keys {
		if n%account.MaxKeysPerUser == 0 {
			_, err := ring.CreateUser(r.Context(), userOf(n), "bench")
			r.must(err)
		}
		secret, _, err := ring.CreateKey(r.Context(), userOf(n), "")
		r.must(err)
		s.secrets = append(s.secrets, secret.Reveal())
	}
	r.must(db.Close())
	r.must(fill(r.Context(), file, rows))
	s.Service = p.Up(r, nil, data, "--plan", fmt.Sprintf("bench=%d", int64(bottomless["bench"].Monthly)))
	return s
}

func userOf(key int) string { return fmt.Sprintf("bench-%d", key/account.MaxKeysPerUser) }

// fill adds rows of other meters and months, as years of use leave them.
func fill(ctx context.Context, file string, rows int) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
	for table, insert := range map[string]string{
		"meter":     "INSERT INTO meter (meter, period, used) SELECT 'key_' || (i % 5000), '20' || (10 + i / 5000), 1 FROM n",
		"operation": "INSERT INTO operation (meter, period, operation, charged) SELECT 'key_' || (i % 5000), '20' || (10 + i / 5000), 'op', 1 FROM n",
		"refund":    "INSERT INTO refund (admission_id, period) SELECT 'old_' || i, '2020-01' FROM n",
		"meter_day": "INSERT INTO meter_day (meter, day, used) SELECT 'key_' || (i % 5000), '20' || (10 + i / 5000), 1 FROM n",
	} {
		if _, err := db.ExecContext(ctx, numbers+insert, rows/4); err != nil {
			return errors.Join(fmt.Errorf("fill %s: %w", table, err), db.Close())
		}
	}
	return db.Close()
}

// load calls with as many clients as are given, until stop says so, and returns what each call took.
func (s *service) load(ctx context.Context, over string, clients int, stop func(calls int) bool) ([]time.Duration, error) {
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for {
				start := time.Now()
				err := s.call(ctx, over)
				mu.Lock()
				took, failed = append(took, time.Since(start)), errors.Join(failed, err)
				done := stop(len(took)) || failed != nil
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	running.Wait()
	return took, failed
}

func (s *service) call(ctx context.Context, over string) error {
	method, url, body := http.MethodGet, s.APIURL+"/v1/postal/1000001", ""
	if over == "MCP" {
		method, url, body = http.MethodPost, s.MCPURL, tool.body
	}
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("X-Api-Key", s.secrets[rand.IntN(len(s.secrets))])
	if over == "MCP" {
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Accept", "application/json, text/event-stream")
		q.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	a, err := s.client.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(a.Body)
	if err == nil && (a.StatusCode != http.StatusOK || !strings.Contains(string(answer), "千代田")) {
		err = fmt.Errorf("%d %.200s", a.StatusCode, answer)
	}
	return err
}

// measure loads the service for some time.
func (s *service) measure(ctx context.Context, over string, clients int, lasting time.Duration) (map[string]float64, error) {
	before, _, _, err := processUsage(s.PID())
	if err != nil {
		return nil, err
	}
	start := time.Now()
	took, err := s.load(ctx, over, clients, func(int) bool { return time.Since(start) >= lasting })
	elapsed := time.Since(start)
	if err != nil {
		return nil, err
	}
	after, _, _, err := processUsage(s.PID())
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"calls/s": float64(len(took)) / elapsed.Seconds(), "p50 ms": percentile(took, 50), "p99 ms": percentile(took, 99),
		"server CPU µs": float64((after - before).Microseconds()) / float64(len(took)),
	}, nil
}

// laptopService loads `sekisho up`, the same services in every round, all of them idle but one.
func laptopService(r *run) {
	p, err := program.Build(r.TempDir())
	r.must(err)
	t := r.table("laptop", "`sekisho up` under load: the whole service over SQLite, a random key in each call, every answer a good one. The clients share the machine with it, so calls per second "+
		"are those of both; the server's CPU is its own.", "calls/s", "p50 ms", "p99 ms", "server CPU µs")
	var variants []bench.Variant
	services := map[string]*service{}
	sizes := []string{}
	for _, keys := range []int{10, r.many(10_000)} {
		for _, rows := range []int{100, r.many(1_000_000)} {
			size := bench.Number(float64(keys)) + " keys, " + bench.Number(float64(rows)) + " rows"
			fmt.Fprintf(r.progress, "  filling a database with %s\n", size)
			sizes, services[size] = append(sizes, size), r.up(p, keys, rows)
		}
	}
	for _, over := range []string{"REST", "MCP"} {
		for _, clients := range []int{1, 8, 64} {
			for _, size := range sizes {
				variants = append(variants, bench.Variant{Name: fmt.Sprintf("%s, %s, %s", over, plural(clients, "client"), size), Measure: func() (map[string]float64, error) {
					return services[size].measure(r.Context(), over, clients, r.lasting(3*time.Second))
				}})
			}
		}
	}
	r.interleave(t, variants)
	for _, s := range services {
		s.Stop()
	}
	r.memory(p)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// memory is what the service has while it serves half of its calls by REST and half by MCP.
func (r *run) memory(p program.Program) {
	t := r.table("laptop memory", "`sekisho up` over 100,000 calls of 8 clients, half REST and half MCP; 10 keys.", "resident MB", "peak MB")
	s := r.up(p, 10, 100)
	defer s.Stop()
	for quarter := range 5 {
		calls := quarter * r.many(100_000) / 4
		if quarter > 0 {
			fmt.Fprintf(r.progress, "  %s: up to %d calls\n", t.Name, calls)
			each := r.many(100_000) / 8
			for _, over := range []string{"REST", "MCP"} {
				_, err := s.load(r.Context(), over, 8, func(n int) bool { return n > each-8 })
				r.must(err)
			}
		}
		_, resident, peak, err := processUsage(s.PID())
		r.must(err)
		row := "after " + bench.Number(float64(calls)) + " calls"
		t.Add(row, "resident MB", resident)
		t.Add(row, "peak MB", peak)
	}
}
