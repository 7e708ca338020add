//go:build interop

package page

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the months that a new service has no calls in

	"sekisho/tests/midnight"
	"sekisho/tests/program"
)

// The plans of the service under test.
const (
	roomy = "pro"      // every kind of limit, never used up
	tiny  = "trial"    // one unit a month
	daily = "daily"    // one unit a day
	free  = "internal" // no limit at all
)

// site is one `sekisho up` over data of its own, behind a proxy that tests can put in the way.
type site struct {
	dir string
	program.Ready
	// url is the proxy's.
	url string
	// secrets are the keys, which may be in no address, log or storage.
	secrets []string
	// between sees each request first; it answers those for which it returns true.
	between atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
	// changed may change answers.
	changed atomic.Pointer[func(*http.Response) error]
}

// start starts a service and ends it with the test, as Ctrl-C does.
func start(t *testing.T, flags ...string) *site {
	t.Helper()
	midnight.Avoid(t, 2*time.Minute)
	s := &site{dir: t.TempDir()}
	flags = append([]string{
		"--plan", roomy + "=10000,daily=1000,per_second=50,burst=100", "--plan", tiny + "=1", "--plan", daily + "=1000,daily=1", "--plan", free + "=unlimited",
	}, flags...)
	s.Ready = shared.binary.Up(t, nil, s.dir, flags...).Ready
	for _, key := range s.Keys {
		s.secrets = append(s.secrets, key)
	}
	target, err := url.Parse(s.APIURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if s.changed.Load() != nil { // which takes what is not compressed
				r.Out.Header.Set("Accept-Encoding", "identity")
			}
			if r.In.Header.Get("Origin") == s.url { // to the service, the page is its own
				r.Out.Header.Set("Origin", s.APIURL)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if change := s.changed.Load(); change != nil {
				return (*change)(r)
			}
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if step := s.between.Load(); step != nil && (*step)(w, r) {
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *site) host() string { return strings.TrimPrefix(s.url, "http://") }

// intercept puts something in the way of requests; nil takes it away.
func (s *site) intercept(step func(http.ResponseWriter, *http.Request) bool) {
	if step == nil {
		s.between.Store(nil)
		return
	}
	s.between.Store(&step)
}

// change changes the answers to a path.
func (s *site) change(path string, edit func(body string) string) {
	change := func(r *http.Response) error {
		if r.Request.URL.Path != path || r.StatusCode != http.StatusOK {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		edited := []byte(edit(string(body)))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(edited)), int64(len(edited))
		r.Header.Set("Content-Length", fmt.Sprint(len(edited)))
		return nil
	}
	s.changed.Store(&change)
}

// run runs a command of sekisho on the service's data.
func (s *site) run(t *testing.T, args ...string) string {
	t.Helper()
	return shared.binary.On(nil, "--data", s.dir)(t, args...)
}

// made is a new key.
type made struct {
	Key string
	ID  string `json:"key_id"`
}

// key makes a key of a plan's user, whom the start has made.
func (s *site) key(t *testing.T, plan string, flags ...string) made {
	t.Helper()
	var k made
	if err := json.Unmarshal([]byte(s.run(t, append([]string{"keys", "create", "--user", plan, "--json"}, flags...)...)), &k); err != nil {
		t.Fatal(err)
	}
	s.secrets = append(s.secrets, k.Key)
	return k
}

// call makes a call with a key, and expects a status.
func (s *site) call(t *testing.T, key, method, path, body string, want int) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.APIURL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		t.Fatalf("%s %s: %d %s, %v; want %d", method, path, response.StatusCode, answer, err, want)
	}
	return string(answer)
}

// seed writes a year of counts for a key, since no test can make calls in the past. The tools are
// those that it calls first.
func (s *site) seed(t *testing.T, key made) {
	t.Helper()
	for _, path := range []string{"/v1/postal/100-0001", "/v1/calendar/holidays?year=2026", "/v1/convert/units?value=1&from=km&to=m", "/v1/convert/era?date=2026-11-30"} {
		s.call(t, key.Key, "GET", path, "", 200)
	}
	meter := key.ID
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "sekisho.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := tx.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	codes := column(t, tx, `SELECT operation FROM operation WHERE meter = ?`, meter)
	for _, table := range []string{"meter", "meter_day", "operation"} {
		exec(`DELETE FROM `+table+` WHERE meter = ?`, meter)
	}
	now := time.Now().UTC()
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for back := range 13 {
		month := first.AddDate(0, -back, 0)
		period, used := month.Format("2006-01"), int64(0)
		for day := month; day.Before(month.AddDate(0, 1, 0)) && !day.After(now); day = day.AddDate(0, 0, 1) {
			n := int64(100+(day.Day()*67+back*11)%330) * int64(14-back) / 14
			if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
				n /= 6
			}
			exec(`INSERT INTO meter_day (meter, day, used) VALUES (?, ?, ?)`, meter, day.Format(time.DateOnly), n)
			used += n
		}
		refunded, denied := used/40, used/70
		exec(`INSERT INTO meter (meter, period, used, refunded, denied) VALUES (?, ?, ?, ?, ?)`, meter, period, used, refunded, denied)
		charged, given := used+refunded, refunded // what is left of them for the next tool
		for i, operation := range codes {
			n, back := charged/2, given/2
			if i == len(codes)-1 {
				n, back = charged, given
			}
			exec(`INSERT INTO operation (meter, period, operation, charged, refunded) VALUES (?, ?, ?, ?, ?)`, meter, period, operation, n, back)
			charged, given = charged-n, given-back
		}
	}
}

func column(t *testing.T, tx *sql.Tx, query string, args ...any) (values []string) {
	t.Helper()
	rows, err := tx.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
