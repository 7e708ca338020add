package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// wire sits between database/sql and SQLite, and lets a step fail.
type wire struct {
	at, fails int // fails is the number of the step that fails
	err       error
	again     bool // it fails in each transaction
	failed    bool // it has failed
	// parsed counts the statements that SQLite was given to parse.
	parsed int
}

// fail lets the nth step from now on fail, or that of each transaction.
func (w *wire) fail(n int, err error, again bool) {
	*w = wire{fails: n, err: err, again: again}
}

func (w *wire) step() error {
	w.at++
	if w.err == nil || w.at != w.fails {
		return nil
	}
	w.failed = true
	return w.err
}

// over makes a pool whose connections are those of p, with the wire in between.
func (w *wire) over(t *testing.T, p *pool) *pool {
	db := sql.OpenDB(connector{w, p})
	t.Cleanup(func() { _ = errors.Join(db.Close(), p.Close()) })
	db.SetMaxOpenConns(p.Stats().MaxOpenConnections)
	db.SetMaxIdleConns(p.Stats().MaxOpenConnections)
	return &pool{DB: db}
}

type connector struct {
	wire *wire
	pool *pool
}

func (c connector) Driver() driver.Driver { return c.pool.Driver() }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	held, err := c.pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	conn := wiredConn{wire: c.wire, held: held}
	err = held.Raw(func(raw any) error { conn.Conn = raw.(driver.Conn); return nil })
	return conn, err
}

// wiredConn has no ExecContext and no QueryContext, so that database/sql prepares whatever it runs.
type wiredConn struct {
	driver.Conn
	wire *wire
	held *sql.Conn
}

func (c wiredConn) Close() error { return c.held.Close() }

func (c wiredConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if c.wire.again {
		c.wire.at = 0
	}
	if err := c.wire.step(); err != nil {
		return nil, err
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return wiredTx{tx, c.wire}, err
}

func (c wiredConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.wire.step(); err != nil {
		return nil, err
	}
	c.wire.parsed++
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return wiredStmt{s, c.wire}, err
}

type wiredTx struct {
	driver.Tx
	wire *wire
}

func (tx wiredTx) Commit() error {
	if err := tx.wire.step(); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Tx.Commit()
}

type wiredStmt struct {
	driver.Stmt
	wire *wire
}

func (s wiredStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.wire.step(); err != nil {
		return nil, err
	}
	r, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	return wiredResult{r, s.wire}, err
}

func (s wiredStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.wire.step(); err != nil {
		return nil, err
	}
	r, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	return wiredRows{r, s.wire}, err
}

type wiredResult struct {
	driver.Result
	wire *wire
}

func (r wiredResult) RowsAffected() (int64, error) {
	if err := r.wire.step(); err != nil {
		return 0, err
	}
	return r.Result.RowsAffected()
}

type wiredRows struct {
	driver.Rows
	wire *wire
}

func (r wiredRows) Next(into []driver.Value) error {
	if err := r.wire.step(); err != nil {
		return err
	}
	return r.Rows.Next(into)
}

// busyError is what SQLite says while another process writes.
func busyError(t *testing.T) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sekisho.db")
	holder, waiter := openAt(t, path), openAt(t, path)
	tx, err := holder.write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err = waiter.write.BeginTx(t.Context(), nil); !busy(err) {
		t.Fatalf("%v, want it busy", err)
	}
	return err
}

var (
	errDisk = errors.New("the disk is broken")
	noon    = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
)

// call is one of the store. It needs what sample puts there.
type call struct {
	name string
	do   func(ctx context.Context, db *DB) (any, error)
}

// calls are all of the store that may write or read.
func calls(t *testing.T, s sample) []call {
	none := func(err error) (any, error) { return nil, err }
	fresh := s.key
	fresh.ID, fresh.Hash = "key_b", apikey.Hash{2}
	another, _, err := grant.New(grant.Request{KeyID: s.key.ID, Lasts: time.Hour}, noon)
	if err != nil {
		t.Fatal(err)
	}
	changed := s.grant.End(noon)
	changed.Version = 1
	november := usage.PeriodOf(noon)
	next := s.admission
	next.ID, next.Limits.Rate = usage.NewAdmissionID(noon), ratelimit.Limit{PerSecond: 1, Burst: 5}
	december := next
	december.At = november.Reset()
	state := brake.State{Phase: brake.Braking, Version: 1}
	off := account.Settings{DisabledTools: []string{"convert.era"}}
	limit := ratelimit.Limit{PerSecond: 1, Burst: 5}
	return []call{
		{"prepare", func(ctx context.Context, db *DB) (any, error) { return none(db.prepare(ctx)) }},
		{"CreateUser", func(ctx context.Context, db *DB) (any, error) {
			return none(db.Accounts().CreateUser(ctx, account.User{ID: "bob", Plan: "free", CreatedAt: noon}))
		}},
		{"User", func(ctx context.Context, db *DB) (any, error) { return db.Accounts().User(ctx, "ada") }},
		{"SetPlan", func(ctx context.Context, db *DB) (any, error) { return none(db.Accounts().SetPlan(ctx, "ada", "pro")) }},
		{"CreateKey", func(ctx context.Context, db *DB) (any, error) { return none(db.Accounts().CreateKey(ctx, fresh)) }},
		{"ReplaceKey", func(ctx context.Context, db *DB) (any, error) {
			return none(db.Accounts().ReplaceKey(ctx, s.key.ID, noon, fresh))
		}},
		{"RevokeKey", func(ctx context.Context, db *DB) (any, error) {
			return none(db.Accounts().RevokeKey(ctx, s.key.ID, noon))
		}},
		{"PutSettings", func(ctx context.Context, db *DB) (any, error) {
			return none(db.Accounts().PutSettings(ctx, s.key.ID, off, &account.Settings{}))
		}},
		{"Key", func(ctx context.Context, db *DB) (any, error) { return db.Accounts().Key(ctx, s.key.ID) }},
		{"Keys", func(ctx context.Context, db *DB) (any, error) { return db.Accounts().Keys(ctx, "") }},
		{"Create", func(ctx context.Context, db *DB) (any, error) { return none(db.Grants().Create(ctx, another)) }},
		{"Grant", func(ctx context.Context, db *DB) (any, error) { return db.Grants().Grant(ctx, s.grant.ID) }},
		{"Put", func(ctx context.Context, db *DB) (any, error) { return none(db.Grants().Put(ctx, changed)) }},
		{"Grants", func(ctx context.Context, db *DB) (any, error) { return db.Grants().Grants(ctx, s.key.ID, "key_b") }},
		{"Admit", func(ctx context.Context, db *DB) (any, error) { return db.Usage().Admit(ctx, next) }},
		{"Admit in December", func(ctx context.Context, db *DB) (any, error) { return db.Usage().Admit(ctx, december) }},
		{"Refund", func(ctx context.Context, db *DB) (any, error) {
			return db.Usage().Refund(ctx, usage.Refund{Meter: s.admission.Meter, Period: november, Cap: 5, Calls: []usage.FailedCall{
				{AdmissionID: s.admission.ID, Operation: "pl", Units: 1}, {AdmissionID: next.ID, Operation: "pl", Units: 1, Unstarted: true},
			}})
		}},
		{"AddDenied", func(ctx context.Context, db *DB) (any, error) {
			return none(db.Usage().AddDenied(ctx, s.admission.Meter, november, 2))
		}},
		{"Counts", func(ctx context.Context, db *DB) (any, error) {
			return db.Usage().Counts(ctx, s.admission.Meter, november, november.Before(1))
		}},
		{"Once", func(ctx context.Context, db *DB) (any, error) { return db.Usage().Once(ctx, "crossing", november) }},
		{"Again", func(ctx context.Context, db *DB) (any, error) { return none(db.Usage().Again(ctx, "told", november)) }},
		{"Take", func(ctx context.Context, db *DB) (any, error) {
			return db.Buckets().Take(ctx, "bucket", limit, noon, 0)
		}},
		{"Update", func(ctx context.Context, db *DB) (any, error) {
			return none(db.Dailies().Update(ctx, "quota", "2026-11-30", func(d ratelimit.Day) (ratelimit.Day, bool) { return d.Commit("id-2"), true }))
		}},
		{"Load", func(ctx context.Context, db *DB) (any, error) { return db.Brake("x").Load(ctx) }},
		{"Save", func(ctx context.Context, db *DB) (any, error) { return db.Brake("x").Save(ctx, state) }},
		{"the first Save", func(ctx context.Context, db *DB) (any, error) {
			return db.Brake("y").Save(ctx, brake.State{Phase: brake.On})
		}},
	}
}

// sample is what the database holds before the calls.
type sample struct {
	key       account.Key
	grant     grant.Grant
	admission usage.Admission
}

func newSample(t *testing.T) sample {
	t.Helper()
	g, _, err := grant.New(grant.Request{KeyID: "key_a", Lasts: time.Hour}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return sample{
		key:   account.Key{ID: "key_a", Hash: apikey.Hash{1}, Meter: "key_a", UserID: "ada", Name: "laptop", CreatedAt: noon},
		grant: g,
		admission: usage.Admission{
			ID: usage.NewAdmissionID(noon), Meter: "key_a", At: noon, Operation: "pl", Units: 3, Limits: usage.Limits{Monthly: 10, Daily: 10},
		},
	}
}

func (s sample) put(t *testing.T, db *DB) {
	t.Helper()
	ctx := t.Context()
	_, admitted := db.Usage().Admit(ctx, s.admission)
	_, told := db.Usage().Once(ctx, "told", usage.PeriodOf(noon))
	_, saved := db.Brake("x").Save(ctx, brake.State{Phase: brake.On})
	_, taken := db.Buckets().Take(ctx, "bucket", ratelimit.Limit{PerSecond: 1, Burst: 5}, noon, 0)
	err := errors.Join(
		db.Accounts().CreateUser(ctx, account.User{ID: "ada", Plan: "free", CreatedAt: noon}),
		db.Accounts().CreateKey(ctx, s.key), db.Grants().Create(ctx, s.grant), admitted, told, saved, taken,
		db.Dailies().Update(ctx, "quota", "2026-11-30", func(d ratelimit.Day) (ratelimit.Day, bool) { return d.Commit("id-1"), true }),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// file is a database file that holds the sample.
func (s sample) file(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sekisho.db")
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func copyOf(t *testing.T, file []byte) *DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sekisho.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	return openAt(t, path)
}

// committed is a number that changes with each commit of the store's writer.
func committed(t *testing.T, watcher *sql.Conn) (n int) {
	t.Helper()
	if err := watcher.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestEachStepFails: whatever it is that SQLite fails at, the call fails with it and changes nothing; and if
// another process was in the way, it is made again, to the same end.
func TestEachStepFails(t *testing.T) {
	s, inTheWay := newSample(t), busyError(t)
	file := s.file(t)
	for _, c := range calls(t, s) {
		t.Run(c.name, func(t *testing.T) {
			want, err := c.do(t.Context(), copyOf(t, file))
			if err != nil {
				t.Fatal(err)
			}
			for n, more := 1, true; more; n++ {
				more = stepFails(t, copyOf(t, file), c, n, want, inTheWay)
			}
		})
	}
	t.Run("migrate", func(t *testing.T) {
		migrate := call{"migrate", func(ctx context.Context, db *DB) (any, error) { return nil, db.migrate(ctx) }}
		for n, more := 1, true; more; n++ {
			more = stepFails(t, empty(t), migrate, n, nil, inTheWay)
		}
	})
}

// TestAnotherProcessStaysInTheWay: the call fails after the time that is given to others, and says so.
func TestAnotherProcessStaysInTheWay(t *testing.T) {
	inTheWay := busyError(t)
	synctest.Test(t, func(t *testing.T) {
		db, w := fresh(t), &wire{}
		db.write = w.over(t, db.write)
		w.fail(1, inTheWay, true)
		err := db.Accounts().SetPlan(t.Context(), "ada", "pro")
		if !busy(err) || !strings.Contains(err.Error(), "another process held the database for 10s") {
			t.Errorf("%v", err)
		}
	})
}

// TestAWriteInLineEndsWithItsCaller, and does not pass for one that was made.
func TestAWriteInLineEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, leave := fresh(t), make(chan struct{})
		var writing sync.WaitGroup
		writing.Go(func() {
			if err := db.update(t.Context(), func(context.Context, *transaction) error { <-leave; return nil }); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := db.Accounts().CreateUser(ctx, account.User{ID: "ada", Plan: "free", CreatedAt: noon}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the caller's deadline", err)
		}
		close(leave)
		writing.Wait()
	})
}

// stepFails makes a call whose nth step fails, in each attempt. It returns false if the call has fewer.
func stepFails(t *testing.T, db *DB, c call, n int, want any, inTheWay error) (more bool) {
	t.Helper()
	watcher, err := db.read.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watcher.Close() }()
	w := &wire{}
	db.write, db.read = w.over(t, db.write), w.over(t, db.read)
	before := committed(t, watcher)
	w.fail(n, errDisk, true)
	got, err := c.do(t.Context(), db)
	if !w.failed {
		return false
	}
	if !errors.Is(err, errDisk) {
		t.Errorf("step %d failed: %+v, %v; want its error", n, got, err)
	}
	if committed(t, watcher) != before {
		t.Errorf("step %d failed, and something was changed", n)
	}
	w.fail(n, inTheWay, false)
	if got, err := c.do(t.Context(), db); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("step %d was in another's way: %+v, %v; want %+v", n, got, err, want)
	}
	return true
}

// empty is a database without a schema.
func empty(t *testing.T) *DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sekisho.db")
	write, err := connect(path, 1, "_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	read, err := connect(path, 4, "_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	db := fresh(t)
	_ = db.Close()
	db.write, db.read = write, read
	return db
}

// TestFrequentStatementsAreParsedOnce, and not by each admission and each look at a key.
func TestFrequentStatementsAreParsedOnce(t *testing.T) {
	s, db := newSample(t), fresh(t)
	s.put(t, db)
	w := &wire{}
	db.write, db.read = w.over(t, db.write), w.over(t, db.read)
	if err := db.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := w.parsed
	_, admitted := db.Usage().Admit(t.Context(), s.admission)
	_, found := db.Accounts().Key(t.Context(), s.key.ID)
	if err := errors.Join(admitted, found); err != nil || w.parsed != before {
		t.Errorf("%d statements were parsed again, %v", w.parsed-before, err)
	}
}

// TestWhatCannotBeReadIsAnError, and is not left out or taken for empty.
func TestWhatCannotBeReadIsAnError(t *testing.T) {
	s := newSample(t)
	all := calls(t, s)
	for statement, names := range map[string]string{
		"UPDATE api_key SET hash = x'00'":         "Key Keys ReplaceKey PutSettings",
		"UPDATE api_key SET off_categories = '{'": "Key Keys ReplaceKey PutSettings",
		"UPDATE api_key SET off_tools = '{'":      "Key Keys ReplaceKey PutSettings",
		"UPDATE app_grant SET state = '{'":        "Grant Grants",
		"UPDATE meter_day SET day = '2026-11-3x'": "Counts Refund",
		"UPDATE brake SET state = '{'":            "Load",
		"UPDATE daily SET state = '{'":            "Update",
	} {
		db := fresh(t)
		s.put(t, db)
		if _, err := db.write.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			if !strings.Contains(" "+names+" ", " "+c.name+" ") {
				continue
			}
			if got, err := c.do(t.Context(), db); err == nil {
				t.Errorf("%s: %s returns %+v", statement, c.name, got)
			}
		}
	}
}
