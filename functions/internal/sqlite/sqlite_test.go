package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
)

func openAt(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func fresh(t testing.TB) *DB { return openAt(t, filepath.Join(t.TempDir(), "sekisho.db")) }

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		path := filepath.Join(t.TempDir(), "sekisho.db")
		return func() store.Store { return openAt(t, path) }
	})
}

func TestOpenMakesTheDirectoryAndKeepsData(t *testing.T) {
	// SQLite must not interpret characters that are special in a URI.
	path := filepath.Join(t.TempDir(), "a dir", "50%?#x", "data.db")
	u := account.User{ID: "ada", Plan: "free", CreatedAt: time.UnixMilli(1).UTC()}
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Accounts().CreateUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := openAt(t, path).Accounts().User(t.Context(), "ada"); err != nil || got != u {
		t.Errorf("after reopening: %+v, %v", got, err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want the owner only", name, info.Mode())
		}
	}
}

// seki marks a file as those of all releases are marked: with another mark they could not be opened any more.
const seki = "PRAGMA application_id = 1397050185;"

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		prepare    func(t *testing.T, path string)
		below      string
	}{
		{"a directory that can't be made", "choose a directory that you can write to", writeText("x"), "data.db"},
		{"a directory as file", "choose a directory that you can write to", makeDir, ""},
		{"what is no database", "not a database", writeText(strings.Repeat("no database ", 100)), ""},
		{"another program's database", "belongs to another program", execute("CREATE TABLE song (title TEXT)"), ""},
		{"a newer schema", "written by a newer sekisho", execute(seki + fmt.Sprintf("PRAGMA user_version = %d", len(migrations)+1)), ""},
		{"a table in the way of the second schema", "schema 2", execute(seki + "PRAGMA user_version = 1; CREATE TABLE brake (x)"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			c.prepare(t, path)
			db, err := Open(t.Context(), filepath.Join(path, c.below))
			if err == nil {
				_ = db.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want the path and %q", err, c.want)
			}
		})
	}
}

func writeText(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func makeDir(t *testing.T, path string) {
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func execute(statement string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sekisho.db")
	var done sync.WaitGroup
	for range 8 {
		done.Go(func() {
			db, err := Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// A writer waiting for another process gives up when its caller does.
func TestWaitEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sekisho.db")
	holder, waiter := openAt(t, path), openAt(t, path)
	tx, err := holder.write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	a := usage.Admission{ID: "adm_1", Meter: "m", At: time.UnixMilli(0), Operation: "o", Units: 1, Limits: usage.NoLimits}
	if d, err := waiter.Usage().Admit(ctx, a); err == nil {
		t.Errorf("admitted %+v while another held the lock", d)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if d, err := waiter.Usage().Admit(t.Context(), a); err != nil || !d.Admitted || d.Used != 1 {
		t.Errorf("after the lock was released: %+v, %v", d, err)
	}
}

const childEnv = "SEKISHO_TEST_ADMIT_IN"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(admitAsProcess(path))
	}
	os.Exit(m.Run())
}

// admitAsProcess runs in a child process of TestProcesses: it asks for 100 units and prints
// a dot for each one admitted.
func admitAsProcess(path string) int {
	db, err := Open(context.Background(), path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = db.Close() }()
	for range 100 {
		now := time.Now()
		d, err := db.Usage().Admit(context.Background(), usage.Admission{
			ID: usage.NewAdmissionID(now), Meter: "m", At: time.UnixMilli(0), Operation: "o", Units: 1,
			Limits: usage.Limits{Monthly: 150, Daily: usage.Unlimited},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if d.Admitted {
			_, _ = io.WriteString(os.Stdout, ".")
		}
	}
	return 0
}

func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sekisho.db")
	granted := make([]int, 3)
	var done sync.WaitGroup
	for i := range granted {
		done.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), childEnv+"="+path)
			child.Stderr = os.Stderr
			out, err := child.Output()
			if err != nil {
				t.Errorf("child %d: %v", i, err)
			}
			granted[i] = strings.Count(string(out), ".")
		})
	}
	done.Wait()
	if sum := granted[0] + granted[1] + granted[2]; sum != 150 {
		t.Errorf("three processes were granted %v = %d, want 150", granted, sum)
	}
}

func BenchmarkAdmit(b *testing.B) {
	s := fresh(b).Usage()
	limits := usage.Limits{Monthly: 1 << 40, Daily: 1 << 40, Rate: ratelimit.Limit{PerSecond: 1e6, Burst: 1000}}
	for b.Loop() {
		d, err := s.Admit(b.Context(), usage.Admission{ID: "adm_x", Meter: "m", At: time.Now(), Operation: "postal.lookup", Units: 1, Limits: limits})
		if err != nil || !d.Admitted {
			b.Fatal(d, err)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	s := fresh(b).Accounts()
	now := time.UnixMilli(time.Now().UnixMilli()).UTC()
	if err := s.CreateUser(b.Context(), account.User{ID: "ada", Plan: "free", CreatedAt: now}); err != nil {
		b.Fatal(err)
	}
	if err := s.CreateKey(b.Context(), account.Key{ID: "key_a", Meter: "key_a", UserID: "ada", CreatedAt: now}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Key(b.Context(), "key_a"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWritersTakeTurns: who waits longest writes next. A pool of connections would pick one at random.
func TestWritersTakeTurns(t *testing.T) { synctest.Test(t, writersTakeTurns) }

func writersTakeTurns(t *testing.T) {
	db := fresh(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := db.update(t.Context(), func(context.Context, *transaction) error { close(inside); <-leave; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	var order []int
	for i := range 20 {
		wg.Go(func() {
			if err := db.update(t.Context(), func(context.Context, *transaction) error { order = append(order, i); return nil }); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait() // until it stands in line
	}
	close(leave)
	wg.Wait()
	if !slices.IsSorted(order) || len(order) != 20 {
		t.Errorf("they wrote in the order %v", order)
	}
}
