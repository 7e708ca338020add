package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
)

// writes are the changes that wait to be made. SQLite allows one writer at a time, so a process's
// changes queue for its one connection that writes. Whoever has the turn makes those of all who wait,
// in one transaction: under load many changes share the cost of a commit, and nobody has to be woken
// between one change and the next.
type writes struct {
	// turn holds one token for whoever writes. The caller that has waited longest gets it next.
	turn chan struct{}

	mu      sync.Mutex
	waiting []*write
}

// write is a change that somebody waits for.
type write struct {
	ctx context.Context
	do  func(context.Context, *transaction) error
	// ended is closed when the change was made, or was not because of err.
	ended chan struct{}
	err   error
}

// errApart ends changes that failed together. Each is then made by itself, which shows whose fault it was.
var errApart = errors.New("changes made together failed")

// update runs do in a transaction that holds the write lock from the start, so that what it
// reads stays true until it commits. do may be called more than once.
func (db *DB) update(ctx context.Context, do func(context.Context, *transaction) error) error {
	w := &write{ctx: ctx, do: do, ended: make(chan struct{})}
	db.writes.add(w)
	err := retry(ctx, func(ctx context.Context) error { return db.makeAll(ctx, w) })
	if db.writes.withdraw(w) {
		return err
	}
	<-w.ended // soon: whoever took it holds the lock
	if w.err == errApart {
		return retry(ctx, func(ctx context.Context) error { return db.makeOne(ctx, do) })
	}
	return w.err
}

// makeAll makes all changes that wait, unless w was made meanwhile. Its error says why it took none.
func (db *DB) makeAll(ctx context.Context, w *write) error {
	if ok, err := db.writes.takeTurn(ctx, w.ended); !ok {
		return err
	}
	defer db.writes.endTurn()
	runtime.Gosched() // lets callers that are about to join do so
	var together []*write
	failed := errApart
	defer func() {
		if len(together) > 0 {
			_ = recover() // the change that panicked will do so again, by itself
		}
		for _, w := range together {
			w.end(failed)
		}
	}()
	// What is made for many must not end with the context of one.
	err := transact(context.WithoutCancel(ctx), db.write, nil, func(ctx context.Context, tx *transaction) error {
		together = db.writes.take()
		for _, w := range together {
			if w.err = context.Cause(w.ctx); w.err != nil {
				continue
			}
			if err := w.do(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		failed = nil
	}
	if len(together) > 0 {
		return nil
	}
	return err
}

// makeOne makes a change in a transaction of its own.
func (db *DB) makeOne(ctx context.Context, do func(context.Context, *transaction) error) error {
	if ok, err := db.writes.takeTurn(ctx, nil); !ok {
		return err
	}
	defer db.writes.endTurn()
	return transact(ctx, db.write, nil, do)
}

// end reports the outcome, unless the change already has an error of its own.
func (w *write) end(err error) {
	if w.err == nil {
		w.err = err
	}
	close(w.ended)
}

// takeTurn waits for the turn. It is false if needless was closed meanwhile, or, with an error, if ctx ended.
func (ws *writes) takeTurn(ctx context.Context, needless <-chan struct{}) (bool, error) {
	select {
	case ws.turn <- struct{}{}:
	case <-needless:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	select {
	case <-needless: // select picks at random where both are ready
		ws.endTurn()
		return false, nil
	default:
		return true, nil
	}
}

func (ws *writes) endTurn() { <-ws.turn }

func (ws *writes) add(w *write) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.waiting = append(ws.waiting, w)
}

// take removes all that wait.
func (ws *writes) take() []*write {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	all := ws.waiting
	ws.waiting = nil
	return all
}

// withdraw removes a change that nobody took; false if somebody did.
func (ws *writes) withdraw(w *write) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	i := slices.Index(ws.waiting, w)
	if i >= 0 {
		ws.waiting = slices.Delete(ws.waiting, i, i+1)
	}
	return i >= 0
}
