package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// queue holds up the writers of a database until release, so that changes wait for their turn.
type queue struct {
	t       *testing.T
	db      *DB
	running sync.WaitGroup
	leave   chan struct{}
}

func newQueue(t *testing.T) *queue {
	q := &queue{t: t, db: fresh(t), leave: make(chan struct{})}
	inside := make(chan struct{})
	q.running.Go(func() {
		err := q.db.update(t.Context(), func(context.Context, *transaction) error { close(inside); <-q.leave; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	return q
}

// add has a change stand in line behind those before it; its outcome comes through the channel.
func (q *queue) add(ctx context.Context, do func(context.Context, *transaction) error) <-chan error {
	q.t.Helper()
	waiting := func() int {
		q.db.writes.mu.Lock()
		defer q.db.writes.mu.Unlock()
		return len(q.db.writes.waiting)
	}
	outcome, before := make(chan error, 1), waiting()
	q.running.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				outcome <- fmt.Errorf("panic: %v", p)
			}
		}()
		outcome <- q.db.update(ctx, do)
	})
	for deadline := time.Now().Add(10 * time.Second); waiting() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			q.t.Fatal("the change does not wait for its turn")
		}
	}
	return outcome
}

func (q *queue) release() {
	close(q.leave)
	q.running.Wait()
}

// put is a change that can be seen afterwards.
func put(name string) func(context.Context, *transaction) error {
	return func(ctx context.Context, tx *transaction) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO once (name, period) VALUES (?, '2026-11')", name)
		return err
	}
}

// then is a change that ends in some way after it has written.
func then(name string, end func() error) func(context.Context, *transaction) error {
	return func(ctx context.Context, tx *transaction) error { return errors.Join(put(name)(ctx, tx), end()) }
}

func (q *queue) wantMade(names string) {
	q.t.Helper()
	var made string
	err := q.db.read.QueryRowContext(q.t.Context(), "SELECT group_concat(name, ' ' ORDER BY name) FROM once").Scan(&made)
	if err != nil || made != names {
		q.t.Errorf("made %q, %v; want %q", made, err, names)
	}
}

func want(t *testing.T, name string, outcome <-chan error, want error) {
	t.Helper()
	if err := <-outcome; !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", name, err, want)
	}
}

// TestChangesThatWaitShareATransaction: each sees what those before it changed.
func TestChangesThatWaitShareATransaction(t *testing.T) {
	q := newQueue(t)
	var transactions []*transaction
	var seen []int
	for i := range 20 {
		q.add(t.Context(), func(ctx context.Context, tx *transaction) error {
			var n int
			err := errors.Join(put(string(rune('a'+i)))(ctx, tx), tx.QueryRowContext(ctx, "SELECT count(*) FROM once").Scan(&n))
			transactions, seen = append(transactions, tx), append(seen, n)
			return err
		})
	}
	q.release()
	for i, tx := range transactions {
		if tx != transactions[0] || seen[i] != i+1 {
			t.Errorf("change %d: another transaction (%v), or it saw %d changes", i, tx != transactions[0], seen[i])
		}
	}
	q.wantMade("a b c d e f g h i j k l m n o p q r s t")
}

// TestAChangeFailsAlone: those made together with it are made, and nothing of its own is.
func TestAChangeFailsAlone(t *testing.T) {
	broken := errors.New("broken")
	for name, end := range map[string]func() error{
		"error": func() error { return broken },
		"panic": func() error { panic("broken") },
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t)
			a := q.add(t.Context(), put("a"))
			bad := q.add(t.Context(), then("bad", end))
			b := q.add(t.Context(), put("b"))
			q.release()
			want(t, "a", a, nil)
			want(t, "b", b, nil)
			if err := <-bad; !errors.Is(err, broken) && (err == nil || err.Error() != "panic: broken") {
				t.Errorf("the one at fault: %v", err)
			}
			q.wantMade("a b")
		})
	}
}

// TestACallerThatLeavesTheLine: its change is not made, and it hears so at once.
func TestACallerThatLeavesTheLine(t *testing.T) {
	q := newQueue(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	leaves := q.add(ctx, put("leaves"))
	stays := q.add(t.Context(), put("stays"))
	cancel(gone)
	want(t, "who leaves", leaves, gone)
	q.release()
	want(t, "who stays", stays, nil)
	q.wantMade("stays")
}

// TestOnlyItsOwnChangeEndsWithAContext: neither a context that ends before its change's turn within the
// transaction ends the others, nor that of the caller who makes them all.
func TestOnlyItsOwnChangeEndsWithAContext(t *testing.T) {
	q := newQueue(t)
	first, endFirst := context.WithCancel(t.Context())
	late, endLate := context.WithCancel(t.Context())
	a := q.add(first, then("first", func() error { endFirst(); endLate(); return nil }))
	b := q.add(late, put("late"))
	c := q.add(t.Context(), put("last"))
	q.release()
	want(t, "first, which was made", a, nil)
	want(t, "late", b, context.Canceled)
	want(t, "last", c, nil)
	q.wantMade("first last")
}
