package relay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.uber.org/zap"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/store/storetest"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/awsfake/tables"
)

var emulator moto.Shared

func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }

func overSQLite(t *testing.T) store.Store {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sekisho.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func overDynamo(t *testing.T) store.Store {
	client := dynamodb.NewFromConfig(emulator.Config(t))
	name := rand.Text() // the emulator outlives a run of the test
	tableNames := dynamo.Tables{Accounts: "accounts-" + name, Usage: "usage-" + name}
	if err := tables.Create(t.Context(), client, tableNames.Accounts, tableNames.Usage); err != nil {
		t.Fatal(err)
	}
	return dynamo.New(client, tableNames)
}

// TestTwoInstancesShareTheDay, over both stores and real sockets: of 20 publications at once
// exactly three go through, as the quota has it.
func TestTwoInstancesShareTheDay(t *testing.T) {
	const calls, quota = 20, 3
	for name, open := range map[string]func(*testing.T) store.Store{"SQLite": overSQLite, "DynamoDB": overDynamo} {
		t.Run(name, func(t *testing.T) {
			var published atomic.Int64
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				published.Add(1)
				w.WriteHeader(http.StatusNoContent)
			}))
			defer upstream.Close()
			rate := 1.0
			env := boot.Map(map[string]string{boot.Backend: backend.Settings{
				URL: upstream.URL, Private: true, RatePerSecond: &rate, Burst: 100, PerDay: map[string]int{"external.publish_content": 3},
			}.String()})
			today := time.Now() // the day must not turn within the test
			rt := boot.Runtime{Function: "external", Env: env, Log: zap.NewNop(), Now: func() time.Time { return today }}
			shared := open(t)
			build := FromEnv(func(boot.Env, ...string) (store.Store, error) { return shared, nil }, Options{})
			var instances [2]boot.Invoker
			for i := range instances {
				var err error
				if instances[i], err = build(rt); err != nil {
					t.Fatal(err)
				}
			}
			var passed, over atomic.Int64
			var wg sync.WaitGroup
			for i := range calls {
				wg.Go(func() {
					payload, err := instances[i%2].Invoke(t.Context(), []byte(
						`{"httpMethod":"POST","resource":"/v1/external/publications","body":"{\"slug\":\"hello\"}"}`))
					var a events.APIGatewayProxyResponse
					if err := errors.Join(err, json.Unmarshal(payload, &a)); err != nil {
						t.Error(err)
					}
					switch a.StatusCode {
					case 204:
						passed.Add(1)
					case 429:
						over.Add(1)
					default:
						t.Errorf("%d %s", a.StatusCode, a.Body)
					}
				})
			}
			wg.Wait()
			if passed.Load() != quota || over.Load() != calls-quota || published.Load() != quota {
				t.Errorf("%d passed, %d over the limit, %d published; want %d, %d, %d",
					passed.Load(), over.Load(), published.Load(), quota, calls-quota, quota)
			}
		})
	}
}

// broken is a store that fails on demand.
type broken struct {
	*storetest.Memory
	bucket, daily bool
	afterReserve  bool // daily fails from the second change on
	changes       int
}

var errDown = errors.New("the store is down")

func (b *broken) Take(ctx context.Context, bucket string, l ratelimit.Limit, now time.Time, maxWait time.Duration) (ratelimit.Slot, error) {
	if b.bucket {
		return ratelimit.Slot{}, errDown
	}
	return b.Memory.Take(ctx, bucket, l, now, maxWait)
}

func (b *broken) Update(ctx context.Context, quota, day string, change func(ratelimit.Day) (ratelimit.Day, bool)) error {
	if b.changes++; b.daily || b.afterReserve && b.changes > 1 {
		return errDown
	}
	return b.Memory.Update(ctx, quota, day, change)
}

func TestTheStoreFails(t *testing.T) {
	for name, c := range map[string]struct {
		store  broken
		status int
		code   problem.Code
		sent   int
		logged int
	}{
		"no place can be taken":      {broken{daily: true}, 503, problem.StoreUnavailable, 0, 0},
		"the bucket can't be asked":  {broken{bucket: true}, 503, "upstream_unavailable", 0, 0},
		"the place can't be used up": {broken{afterReserve: true}, 200, "", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				store := c.store
				store.Memory = &w.store
				keep := func(buckets ratelimit.BucketStore, dailies ratelimit.DailyStore) {
					w.handler.Gate = (&ratelimit.Limiter{Store: buckets, Bucket: "external", Limit: ratelimit.Limit{Burst: 5, PerSecond: 1}}).Wait
					w.handler.PerDay["external.publish_content"].Store = dailies
				}
				keep(&store, &store)
				a := w.publish("hello")
				if n := len(w.called()); a.StatusCode != c.status || a.problem.Error != c.code || n != c.sent {
					t.Errorf("%d %s, %d calls; want %d %s, %d", a.StatusCode, a.Body, n, c.status, c.code, c.sent)
				}
				if a.StatusCode != 200 && (!a.problem.Retryable || a.Headers["Retry-After"] == "") {
					t.Errorf("it does not say when to come back: %s", a.Body)
				}
				if n := w.log.FilterMessageSnippet("not settled").Len(); n != c.logged {
					t.Errorf("%d lines about the place, want %d", n, c.logged)
				}
				keep(&w.store, &w.store)
				if next := w.publish("other"); (next.StatusCode == 200) != (c.sent == 0) {
					t.Errorf("afterwards: %d %s", next.StatusCode, next.Body)
				}
			})
		})
	}
}
