package logsinsights_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"sekisho/functions/internal/aws/logsinsights"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/money/chargeback"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/usage"
)

const group = "/aws/apigateway/sekisho-dev/live/access"

// rows is the most that a query returns here; the service's 10,000 would make tests slow.
const rows = 100

// record is a line of the access log and the second it was logged in.
type record struct {
	at   int64
	line gateway.AccessRecord
}

// insights emulates StartQuery, GetQueryResults and StopQuery for the one query we send.
type insights struct {
	t       *testing.T
	records []record
	// keeps is the first second that the group still has; earlier queries are refused.
	keeps int64
	// polls is how many polls find a query still running.
	polls int
	// polled is called on every poll, unless nil.
	polled func(n int)
	// ends is the final status of a query.
	ends string

	mu      sync.Mutex
	queries map[string][][]map[string]string
	asked   map[string]int
	windows [][2]int64
	stopped []string
}

func (i *insights) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var in struct {
		LogGroupName, QueryString, QueryID string
		StartTime, EndTime                 int64
		Limit                              int
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		i.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "StartQuery":
		if in.LogGroupName != group {
			refuse(w, "ResourceNotFoundException", "The specified log group does not exist.")
			return
		}
		if in.EndTime < i.keeps {
			refuse(w, "MalformedQueryException", "Query's end date and time is either before the log groups creation time or exceeds the log groups log retention settings ([0,79])")
			return
		}
		if want := logsinsights.Query(november(i.t), rows); in.QueryString != want || in.Limit != rows {
			i.t.Errorf("query %q with limit %d, want %q", in.QueryString, in.Limit, want)
		}
		id := fmt.Sprintf("query-%d", len(i.queries))
		i.queries[id] = i.count(in.QueryString, in.StartTime, in.EndTime)
		i.windows = append(i.windows, [2]int64{in.StartTime, in.EndTime})
		answer(w, map[string]any{"queryId": id})
	case "GetQueryResults":
		i.asked[in.QueryID]++
		if i.polled != nil {
			i.polled(i.asked[in.QueryID])
		}
		if n := i.asked[in.QueryID]; n <= i.polls {
			answer(w, map[string]any{"status": map[bool]string{true: "Scheduled", false: "Running"}[n == 1], "results": []any{}})
			return
		}
		answer(w, map[string]any{"status": i.ends, "results": i.queries[in.QueryID]})
	case "StopQuery":
		i.stopped = append(i.stopped, in.QueryID)
		answer(w, map[string]any{"success": true})
	default:
		i.t.Errorf("unexpected %s", operation)
	}
}

// grouped are the fields by which the query counts.
var grouped = [4]string{"meter", "operation", "denial", "response_type"}

// fields are those of a record, and what the query's commands parse out of them.
func (i *insights) fields(query string, r gateway.AccessRecord) map[string]string {
	var fields map[string]string
	line, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(line, &fields)
	}
	if err != nil {
		i.t.Fatal(err)
	}
	for _, command := range regexp.MustCompile(`parse (\w+) /([^/]+)/ \|`).FindAllStringSubmatch(query, -1) {
		re := regexp.MustCompile(command[2])
		if found := re.FindStringSubmatch(fields[command[1]]); found != nil {
			fields[re.SubexpNames()[1]] = found[1]
		}
	}
	return fields
}

// count evaluates: parse, filter (denial and period) or (throttled before the month's end), stats
// count(*) as calls by what is grouped, limit.
func (i *insights) count(query string, from, to int64) [][]map[string]string {
	calls := map[[4]string]int{}
	for _, r := range i.records {
		line := i.fields(query, r.line)
		denied := slices.Contains([]string{"limit_exceeded", "rate_limited"}, line["denial"]) && line["period"] == "2026-11"
		throttled := line["response_type"] == "THROTTLED" && r.at < november(i.t).Reset().Unix()
		if r.at >= from && r.at <= to && (denied || throttled) {
			var by [4]string
			for n, name := range grouped {
				by[n] = line[name]
			}
			calls[by]++
		}
	}
	answer := [][]map[string]string{}
	for by, n := range calls {
		if len(answer) == rows {
			break
		}
		row := []map[string]string{{"field": "calls", "value": fmt.Sprint(n)}}
		for at, name := range grouped {
			row = append(row, map[string]string{"field": name, "value": by[at]})
		}
		answer = append(answer, row)
	}
	return answer
}

func answer(w http.ResponseWriter, body any) { _ = json.NewEncoder(w).Encode(body) }

func refuse(w http.ResponseWriter, kind, message string) {
	w.WriteHeader(http.StatusBadRequest)
	answer(w, map[string]any{"__type": kind, "message": message})
}

func november(t testing.TB) usage.Period {
	t.Helper()
	p, err := usage.ParsePeriod("2026-11")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func start(t *testing.T, i *insights) logsinsights.Group {
	t.Helper()
	i.t, i.queries, i.asked = t, map[string][][]map[string]string{}, map[string]int{}
	if i.ends == "" {
		i.ends = "Complete"
	}
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	return logsinsights.Group{
		Name: group, MaxRows: rows, Poll: time.Millisecond,
		Now: func() time.Time { return time.Date(2027, 1, 15, 0, 0, 0, 0, time.UTC) },
		Client: cloudwatchlogs.New(cloudwatchlogs.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(server.URL),
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		}),
	}
}

func denied(at time.Time, meter, operation string) record {
	return record{at.Unix(), gateway.AccessRecord{Admission: gateway.Admission{
		Denial: string(problem.LimitExceeded), Operation: operation, KeyID: meter, Meter: meter, Period: "2026-11",
	}}}
}

func subject(meter, operation string) chargeback.Subject {
	return chargeback.Subject{Meter: meter, Operation: operation, Why: problem.LimitExceeded}
}

func TestDenied(t *testing.T) {
	first := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	other := denied(first, "key_a", "postal.lookup")
	other.line.Admission.Period = "2026-10"
	admitted := denied(first, "key_a", "postal.lookup")
	admitted.line.Admission.Denial = ""
	fast := denied(first, "key_a", "postal.lookup")
	fast.line.Admission.Denial = "rate_limited"
	throttled := func(at time.Time) record {
		return record{at.Unix(), gateway.AccessRecord{ResponseType: gateway.Throttled}}
	}
	i := &insights{polls: 2, records: []record{
		denied(first, "key_a", "postal.lookup"), denied(first, "key_a", "postal.lookup"), denied(first, "key_a", "calendar.holidays"),
		denied(first.AddDate(0, 1, 0).Add(5*time.Minute), "key_b", "postal.lookup"), // logged after the month's end
		other, admitted, fast, throttled(first), throttled(first.AddDate(0, 1, 0)),
	}}
	got, known, err := start(t, i).Denied(t.Context(), november(t))
	want := chargeback.Denials{subject("key_a", "postal.lookup"): 2, subject("key_a", "calendar.holidays"): 1, subject("key_b", "postal.lookup"): 1,
		{Meter: "key_a", Operation: "postal.lookup", Why: problem.RateLimited}: 1, {Why: problem.Throttled}: 1}
	if err != nil || !known || !maps.Equal(got, want) {
		t.Errorf("%v, known %t, %v; want %v", got, known, err, want)
	}
	if len(i.windows) != 1 || i.asked["query-0"] != 3 {
		t.Errorf("windows %v, asked %v", i.windows, i.asked)
	}
}

// TestHalves: after a full answer the range is halved, and nothing is counted twice.
func TestHalves(t *testing.T) {
	first := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	i := &insights{}
	for n := range 250 {
		at := first.Add(time.Duration(n) * 10_000 * time.Second)
		i.records = append(i.records, denied(at, fmt.Sprintf("key_%05d", n), "postal.lookup"), denied(at, "key_busy", "postal.lookup"))
	}
	got, known, err := start(t, i).Denied(t.Context(), november(t))
	if err != nil || !known || len(got) != 251 || got[subject("key_busy", "postal.lookup")] != 250 {
		t.Errorf("%d keys, busy %d, known %t, %v", len(got), got[subject("key_busy", "postal.lookup")], known, err)
	}
	if len(i.windows) < 3 {
		t.Errorf("windows %v", i.windows)
	}
}

func TestTooManyAtOnce(t *testing.T) {
	at := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	i := &insights{}
	for n := range 101 {
		i.records = append(i.records, denied(at, fmt.Sprintf("key_%05d", n), "postal.lookup"))
	}
	if _, _, err := start(t, i).Denied(t.Context(), november(t)); err == nil || !strings.Contains(err.Error(), "more than 100") {
		t.Errorf("%v", err)
	}
}

func TestExpired(t *testing.T) {
	i := &insights{keeps: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC).Unix()}
	got, known, err := start(t, i).Denied(t.Context(), november(t))
	if err != nil || known || len(got) != 0 {
		t.Errorf("%v, known %t, %v", got, known, err)
	}
}

func TestFutureMonthAsksNothing(t *testing.T) {
	i := &insights{}
	g := start(t, i)
	g.Now = func() time.Time { return time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC) }
	if got, known, err := g.Denied(t.Context(), november(t)); err != nil || !known || len(got) != 0 || len(i.windows) != 0 {
		t.Errorf("%v, known %t, %v, windows %v", got, known, err, i.windows)
	}
}

func TestFailures(t *testing.T) {
	g := start(t, &insights{})
	g.Name = "/nobody"
	if _, _, err := g.Denied(t.Context(), november(t)); !errors.Is(err, logsinsights.ErrNoGroup) || !strings.Contains(err.Error(), "/nobody") {
		t.Errorf("no group: %v", err)
	}
	for _, status := range []string{"Failed", "Timeout", "Cancelled", "Unknown"} {
		if _, _, err := start(t, &insights{ends: status}).Denied(t.Context(), november(t)); err == nil || !strings.Contains(err.Error(), status) {
			t.Errorf("%s: %v", status, err)
		}
	}
}

// TestStops: a query that nobody waits for any more is cancelled.
func TestStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	i := &insights{polls: 1 << 30, polled: func(n int) {
		if n == 3 {
			cancel()
		}
	}}
	if _, _, err := start(t, i).Denied(ctx, november(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.windows) != 1 || len(i.stopped) != 1 || i.stopped[0] != "query-0" {
		t.Errorf("%d queries, stopped %v", len(i.windows), i.stopped)
	}
}
