// Package storetest tests what account.Store, grant.Store, usage.Store and brake.Memory promise. Every
// implementation runs the same tests.
//
// Each call of a function that opens a store must return a fresh, empty one.
package storetest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Run checks a store. fresh makes an empty database and returns what opens a store over it:
// two stores over one database are as two processes have them.
func Run(t *testing.T, fresh func(t *testing.T) (open func() store.Store)) {
	one := func(t *testing.T) store.Store { return fresh(t)() }
	t.Run("accounts", func(t *testing.T) { accounts(t, func(t *testing.T) account.Store { return one(t).Accounts() }) })
	t.Run("grants", func(t *testing.T) {
		grants(t, func(t *testing.T) (a, b grant.Store) {
			open := fresh(t)
			return open().Grants(), open().Grants()
		})
	})
	t.Run("usage", func(t *testing.T) { Usage(t, func(t *testing.T) usage.Store { return one(t).Usage() }) })
	t.Run("usage of two processes", func(t *testing.T) {
		sharedCounters(t, func(t *testing.T) (a, b usage.Store) {
			open := fresh(t)
			return open().Usage(), open().Usage()
		})
	})
	t.Run("buckets", func(t *testing.T) { buckets(t, func(t *testing.T) ratelimit.BucketStore { return one(t).Buckets() }) })
	t.Run("dailies", func(t *testing.T) { dailies(t, func(t *testing.T) ratelimit.DailyStore { return one(t).Dailies() }) })
	t.Run("brake", func(t *testing.T) { brakes(t, func(t *testing.T) func(string) brake.Memory { return one(t).Brake }) })
}

// at is the suites' present.
var at = time.Date(2026, time.November, 30, 23, 59, 59, 999_000_000, time.UTC)

// november and its neighbours are the months that the suites charge.
var november = usage.PeriodOf(at)

// together runs n functions at the same time and waits for all of them.
func together(n int, do func(i int)) {
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	done.Wait()
}

var serial atomic.Int64

// name makes a name unique to the test.
func name(prefix string) string { return fmt.Sprintf("%s%d", prefix, serial.Add(1)) }

// meter makes a meter's ID in the form that package account uses.
func meter() string {
	sum := sha256.Sum256([]byte(name("meter")))
	return fmt.Sprintf("key_%x", sum[:8])
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
