// Package storetest tests what account.Store, usage.Store and brake.Memory promise. Every
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

	"sekisho/functions/internal/usage"
)

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
