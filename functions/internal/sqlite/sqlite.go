// Package sqlite keeps accounts, grants and usage in one SQLite file: the store on a laptop. Any
// number of goroutines and processes on one machine may share a file.
//
// The file is in WAL mode with synchronous=NORMAL: commits survive a crash of the process,
// but a power cut may lose the last few.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"time"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// DB is an open database file.
type DB struct {
	// write has one connection; see writes. Readers don't wait.
	write, read *pool
	writes      writes
}

// pool is a pool of connections.
type pool struct {
	*sql.DB
	parsed statements
}

// statements are those that most calls make, by their text, so that SQLite parses them once for each
// connection.
type statements map[string]*sql.Stmt

// frequent are the statements to parse once.
var frequent = []string{selectState, putState, putDay, addOperation, selectKeyByID}

// parse prepares the frequent statements, whose tables must exist.
func (p *pool) parse(ctx context.Context) error {
	p.parsed = statements{}
	for _, text := range frequent {
		s, err := p.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		p.parsed[text] = s
	}
	return nil
}

// QueryRowContext is that of sql.DB. A frequent statement doesn't end with its context once it has
// begun: watching the context would take longer than the statement.
func (p *pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.parsed[query]; s != nil {
		if ctx.Err() == nil {
			ctx = context.WithoutCancel(ctx)
		}
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}

// transaction is one of a pool.
type transaction struct {
	*sql.Tx
	parsed statements
	// bound are the parsed statements that it has used.
	bound statements
}

// statement is a parsed statement of the transaction, nil if the text is not a frequent one.
func (t *transaction) statement(ctx context.Context, query string) *sql.Stmt {
	if s := t.bound[query]; s != nil {
		return s
	}
	s := t.parsed[query]
	if s != nil {
		s = t.StmtContext(ctx, s)
		t.bound[query] = s
	}
	return s
}

// QueryRowContext is that of sql.Tx.
func (t *transaction) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return t.Tx.QueryRowContext(ctx, query, args...)
}

// ExecContext is that of sql.Tx.
func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := t.statement(ctx, query); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return t.Tx.ExecContext(ctx, query, args...)
}

// Accounts is the store of users and keys.
func (db *DB) Accounts() account.Store { return accounts{db} }

// Grants is the store of grants.
func (db *DB) Grants() grant.Store { return grants{db} }

// Usage is the store of counters.
func (db *DB) Usage() usage.Store { return meters{db} }

// Buckets is the store of token buckets.
func (db *DB) Buckets() ratelimit.BucketStore { return buckets{db} }

// Dailies is the store of daily quotas.
func (db *DB) Dailies() ratelimit.DailyStore { return dailies{db} }

// Open opens a database file, creating it and its directory if they are missing. It fails if
// the file isn't a database, belongs to another program, or was written by a newer version
// of this one.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := makeFile(path); err != nil {
		return nil, fmt.Errorf("database %s: %w; choose a directory that you can write to", path, err)
	}
	db := &DB{writes: writes{turn: make(chan struct{}, 1)}}
	var err error
	if db.write, err = connect(path, 1, "_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if db.read, err = connect(path, 4, "_pragma=query_only(1)"); err != nil {
		_ = db.write.Close()
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if err := db.prepare(ctx); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	return db, nil
}

// prepare brings the file up to date, and has the frequent statements parsed.
func (db *DB) prepare(ctx context.Context) error {
	if err := db.migrate(ctx); err != nil {
		return err
	}
	return retry(ctx, func(ctx context.Context) error { return errors.Join(db.write.parse(ctx), db.read.parse(ctx)) })
}

// makeFile creates the file, readable by its owner only. Its error says why that failed;
// SQLite's would only say "unable to open database file".
func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func connect(path string, conns int, option string) (*pool, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dsn := url.URL{
		Scheme: "file", Opaque: (&url.URL{Path: absolute}).EscapedPath(),
		// The driver's own wait is short, because it ignores the context; retry doesn't.
		RawQuery: "_pragma=busy_timeout(100)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)&" + option,
	}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return &pool{DB: db}, nil
}

// Close closes the connections.
func (db *DB) Close() error { return errors.Join(db.write.Close(), db.read.Close()) }

// busyTimeout is the longest wait for another process's write, unless the context ends
// sooner. A write takes well under a millisecond.
const busyTimeout = 10 * time.Second

var errHeld = fmt.Errorf("another process held the database for %s", busyTimeout)

// retry repeats do while another process holds the lock.
func retry(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, busyTimeout, errHeld)
	defer cancel()
	for {
		err := do(ctx)
		if !busy(err) {
			return err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(4*time.Millisecond)):
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
		}
	}
}

func busy(err error) bool {
	e := (*sqlite.Error)(nil)
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// view runs do on one snapshot of the database.
func (db *DB) view(ctx context.Context, do func(context.Context, *transaction) error) error {
	return retry(ctx, func(ctx context.Context) error {
		return transact(ctx, db.read, &sql.TxOptions{ReadOnly: true}, do)
	})
}

func transact(ctx context.Context, p *pool, options *sql.TxOptions, do func(context.Context, *transaction) error) error {
	tx, err := p.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // a no-op after a commit
	if err := do(ctx, &transaction{tx, p.parsed, statements{}}); err != nil {
		return err
	}
	return tx.Commit()
}
