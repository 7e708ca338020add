package dynamo

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/awsfake/tables"
)

var emulator moto.Shared

func TestMain(m *testing.M) {
	// The emulator handles only a few hundred requests per second, so this runs fewer random
	// sequences than package sqlite's hundred. The flag -rapid.checks asks for more.
	_ = flag.Set("rapid.checks", "30")
	os.Exit(emulator.Run(m))
}

var serial atomic.Int64

// clientOver makes a client for the emulator that uses the given transport.
func clientOver(t testing.TB, transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.NewFromConfig(emulator.Config(t), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		// The SDK's own retries, without its waits of seconds.
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
			o.RateLimiter = sdkratelimit.None
		})
	})
}

func freshTables(t testing.TB) Tables {
	t.Helper()
	n := serial.Add(1)
	names := Tables{Accounts: fmt.Sprintf("accounts-%d", n), Usage: fmt.Sprintf("usage-%d", n)}
	if err := tables.Create(t.Context(), clientOver(t, http.DefaultTransport), names.Accounts, names.Usage); err != nil {
		t.Fatal(err)
	}
	return names
}

func fresh(t testing.TB) *Store {
	t.Helper()
	return patient(New(clientOver(t, http.DefaultTransport), freshTables(t)))
}

// patient makes a store wait long: 200 concurrent calls keep the emulator busy for a second,
// on a busy machine for many, and a timeout would be an unplanned fault.
func patient(s *Store) *Store {
	s.attempt = time.Minute
	return s
}

// An emulator that returns the same count to two parallel ADDs, as floci did (floci#571),
// would make the tests of this package worthless.
func TestEmulatorCountsParallelAddsOnce(t *testing.T) {
	client, table := clientOver(t, http.DefaultTransport), freshTables(t).Usage
	var mu sync.Mutex
	var got []int64
	refused := 0
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			for range 4 {
				out, err := client.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
					TableName: &table, Key: key("counter"),
					UpdateExpression:          aws.String("ADD n :one"),
					ConditionExpression:       aws.String("attribute_not_exists(n) OR n < :max"),
					ExpressionAttributeValues: item{":one": number(1), ":max": number(150)},
					ReturnValues:              types.ReturnValueUpdatedNew,
				})
				mu.Lock()
				if _, failed := conditionFailed(err); failed {
					refused++
				} else if err != nil {
					t.Error(err)
				} else {
					n, _ := item(out.Attributes).number("n")
					got = append(got, n)
				}
				mu.Unlock()
			}
		})
	}
	done.Wait()
	slices.Sort(got)
	if len(got) != 150 || len(slices.Compact(slices.Clone(got))) != 150 || got[0] != 1 || got[149] != 150 || refused != 50 {
		t.Errorf("%d increments with the counts %v and %d refusals, want 1 to 150 once each and 50", len(got), got, refused)
	}
}

// TestStore is the contract of a store, with the double at hand: whatever it sends of a counter, moto and
// the double answer alike. That requests go one at a time loses nothing, since moto answers them so.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() store.Store {
		names, wire := freshTables(t), &both{t: t, double: dynamotest.New()}
		return func() store.Store {
			return agreeing{patient(New(clientOver(t, http.DefaultTransport), names)), patient(New(clientOver(t, wire), names)).Usage()}
		}
	})
}

func TestTablesAreAsDefined(t *testing.T) {
	s := fresh(t)
	for _, name := range []string{s.tables.Accounts, s.tables.Usage} {
		table, err := s.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}
		if k := table.Table.KeySchema; len(k) != 1 || *k[0].AttributeName != pk {
			t.Errorf("%s: key %v", name, k)
		}
		live, err := s.client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			t.Fatal(err)
		}
		if got := aws.ToString(live.TimeToLiveDescription.AttributeName); got != expiresAt {
			t.Errorf("%s: TTL on %q, want %q", name, got, expiresAt)
		}
	}
}

// TestConnected: the connection is there before the first call, and a store that can't be reached keeps no
// function from starting.
func TestConnected(t *testing.T) {
	asked := make(chan string, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("X-Amz-Target")
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, "{}")
	}))
	env := boot.Map(map[string]string{
		"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": server.URL, boot.AccountsTable: "t",
	})
	if _, err := Connected(env, boot.AccountsTable); err != nil || len(asked) != 1 || <-asked != "DynamoDB_20120810.GetItem" {
		t.Errorf("%v, and not one read", err)
	}
	server.Close()
	if s, err := Connected(env, boot.AccountsTable); err != nil || s == nil {
		t.Errorf("without DynamoDB: %v", err)
	}
}

func TestFromEnvNamesWhatIsMissing(t *testing.T) {
	env := map[string]string{"AWS_REGION": "ap-northeast-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	for _, name := range []string{"SEKISHO_ACCOUNTS_TABLE", "SEKISHO_USAGE_TABLE"} {
		if _, err := FromEnv(boot.Map(env), boot.AccountsTable, boot.UsageTable); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %s", err, name)
		}
		env[name] = "t"
	}
	if s, err := FromEnv(boot.Map(env), boot.AccountsTable, boot.UsageTable); err != nil || s.(*Store).tables != (Tables{Accounts: "t", Usage: "t"}) {
		t.Errorf("store %+v, error %v", s, err)
	}
}

// The month is part of the key, so TTL doesn't affect the counting; but it must not remove an
// item too early, and it expects seconds.
func TestItemsExpire(t *testing.T) {
	s := fresh(t)
	a := admissionAt(start, "m", 10)
	mustAdmit(t, s, a)
	r := refundOf(a)
	if o, err := refund1(t.Context(), s, r); err != nil || o != usage.Refunded {
		t.Fatal(o, err)
	}
	if err := s.Usage().AddDenied(t.Context(), "other", a.Period(), 1); err != nil {
		t.Fatal(err)
	}
	reset := a.Period().Reset()
	for name, want := range map[string]time.Time{
		meterKey("m", a.Period()):     reset.Add(usage.RetainCounters),
		meterKey("other", a.Period()): reset.Add(usage.RetainCounters),
		"refund#" + a.ID:              reset.Add(usage.RetainRefunds),
	} {
		i, err := s.get(t.Context(), s.tables.Usage, name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := i.number(expiresAt); got != want.Unix() {
			t.Errorf("%s expires at %d, want %d", name, got, want.Unix())
		}
	}
}

// A bucket slower than a day's is not forgotten before it is full again, or its rate would be
// exceeded.
func TestASlowBucketIsKeptUntilItIsFull(t *testing.T) {
	s := fresh(t)
	weekly := ratelimit.Limit{Burst: 2, PerSecond: 1.0 / (7 * 24 * 3600)}
	for range 2 {
		if slot, err := s.Buckets().Take(t.Context(), "weekly", weekly, start, time.Minute); err != nil || !slot.OK {
			t.Fatal(slot, err)
		}
		i, err := s.get(t.Context(), s.tables.Usage, "bucket#weekly")
		if err != nil {
			t.Fatal(err)
		}
		full, _ := i.number("tat")
		if kept, _ := i.number(expiresAt); !time.Unix(kept, 0).After(time.Unix(0, full)) {
			t.Errorf("full at %s, kept until %s", time.Unix(0, full), time.Unix(kept, 0))
		}
	}
}

// A write of up to 1 KB is one write unit. This is a key that was used every day of the
// month, with as many operations as have a counter, each called a lot and refunded a lot.
func TestMeterStaysWithinOneWriteUnit(t *testing.T) {
	s := fresh(t)
	meter := "key_aaaaaaaaaaaaaaaa"
	limits := usage.NoLimits
	limits.Rate = ratelimit.Limit{PerSecond: 1000, Burst: 1_000_000}
	month := usage.PeriodOf(time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC))
	for n := range contract.MaxCoded {
		at := month.Start().Add(time.Duration(min(n, 30)) * 24 * time.Hour)
		charge := admissionWith(at, meter, limits)
		charge.Operation, charge.Units = fmt.Sprintf("%02d", n), 99_998
		mustAdmit(t, s, charge)
		failing := admissionWith(at, meter, limits)
		failing.Operation, failing.Units = charge.Operation, 999
		mustAdmit(t, s, failing)
		if o, err := refund1(t.Context(), s, refundOf(failing)); err != nil || o != usage.Refunded {
			t.Fatal(o, err)
		}
	}
	for i := range 60 { // fill all slots
		mustAdmit(t, s, admissionWith(month.Reset().Add(time.Duration(i-60)*time.Second), meter, limits))
	}
	if err := s.Usage().AddDenied(t.Context(), meter, month, 100_000); err != nil {
		t.Fatal(err)
	}
	i, err := s.get(t.Context(), s.tables.Usage, meterKey(meter, month))
	if err != nil {
		t.Fatal(err)
	}
	if i.text("s0") == "" || i.text("s5") == "" || i["d31"] == nil || i[attrTAT] == nil {
		t.Fatalf("the item lacks something: %v", i)
	}
	t.Logf("%d operations: %d bytes", contract.MaxCoded, sizeOf(t, i))
	if size := sizeOf(t, i); size > 1024 {
		t.Errorf("the meter has %d bytes with %d operations, a write unit has 1024", size, contract.MaxCoded)
	}
}

// sizeOf follows DynamoDB's documentation: names and strings in UTF-8, numbers one byte per
// two digits plus one. It rounds up.
func sizeOf(t *testing.T, i item) int {
	size := 0
	for name, v := range i {
		size += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += (len(v.Value)+1)/2 + 1
		default:
			t.Fatalf("attribute %s is a %T", name, v)
		}
	}
	return size
}

// Requests cost money: there must be one per decision, whether admitted or denied.
func TestRoundTrips(t *testing.T) {
	wire := &faultyWire{}
	tables := freshTables(t)
	s := New(clientOver(t, wire), tables)
	first, _ := newGrant(t)
	second, _ := newGrant(t)
	created := account.Key{ID: "key_a", Meter: "key_a", UserID: "ada", CreatedAt: start}
	full := admissionAt(start, "m", 1)
	limits := usage.Limits{Monthly: 1000, Daily: 5, Rate: ratelimit.Limit{PerSecond: 1, Burst: 2}}
	now := start
	admit := func(after time.Duration, want usage.Window) func() error {
		return func() error {
			now = now.Add(after)
			d, err := s.Usage().Admit(t.Context(), admissionWith(now, "rated", limits))
			if d.Refused != want {
				t.Errorf("refused by %q, want %q", d.Refused, want)
			}
			return err
		}
	}
	var many []usage.Admission
	for range 99 {
		a := admissionAt(start, "many", usage.Unlimited)
		mustAdmit(t, s, a)
		many = append(many, a)
	}
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"admission", func() error { _, err := s.Usage().Admit(t.Context(), full); return err }, "UpdateItem"},
		{"denial", func() error { _, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", 1)); return err }, "UpdateItem"},
		{"the first of a month with a rate", admit(0, ""), "UpdateItem GetItem UpdateItem"},
		{"in use", admit(0, ""), "UpdateItem"},
		{"empty", admit(0, usage.PerSecond), "UpdateItem"},
		{"in use, at the rate", admit(time.Second, ""), "UpdateItem"},
		{"full again, as this instance knows", admit(time.Minute, ""), "UpdateItem"},
		{"in use, as another instance knows", func() error { s.seen = seen{}; return admit(0, "")() }, "UpdateItem UpdateItem"},
		{"the day is used up", admit(time.Minute, usage.Daily), "UpdateItem"},
		{"the next month, where it looked in use", func() error {
			s.seen.note("rated", now.Add(48*time.Hour).UnixNano(), 0)
			return admit(24*time.Hour, "")()
		}, "UpdateItem GetItem UpdateItem"},
		{"full, where it looked in use", func() error {
			s.seen.note("rated", now.Add(time.Hour).UnixNano(), 0)
			return admit(time.Minute, "")()
		}, "UpdateItem UpdateItem"},
		{"the first of the next month", admit(31*24*time.Hour, ""), "UpdateItem GetItem UpdateItem"},
		{"99 refunds", func() error { _, err := s.Usage().Refund(t.Context(), refundOf(many...)); return err }, "TransactWriteItems"},
		{"99 refunds again", func() error { _, err := s.Usage().Refund(t.Context(), refundOf(many...)); return err }, "TransactWriteItems"},
		{"once", func() error { _, err := s.Usage().Once(t.Context(), "x", full.Period()); return err }, "PutItem"},
		{"denial at limit 0", func() error { _, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", 0)); return err }, "GetItem"},
		{"refund", func() error { _, err := s.Usage().Refund(t.Context(), refundOf(full)); return err }, "TransactWriteItems"},
		{"refund again", func() error { _, err := s.Usage().Refund(t.Context(), refundOf(full)); return err }, "TransactWriteItems"},
		{"counts", func() error { _, err := s.Usage().Counts(t.Context(), "m", full.Period()); return err }, "GetItem"},
		{"user", func() error {
			return s.Accounts().CreateUser(t.Context(), account.User{ID: "ada", Plan: "free", CreatedAt: start})
		}, "TransactWriteItems"},
		{"new key", func() error { return s.Accounts().CreateKey(t.Context(), created) }, "GetItem TransactWriteItems"},
		{"key", func() error { _, err := s.Accounts().Key(t.Context(), "key_a"); return err }, "GetItem"},
		{"the first grant", func() error { return s.Grants().Create(t.Context(), first) }, "GetItem TransactWriteItems"},
		{"another grant", func() error { return s.Grants().Create(t.Context(), second) }, "GetItem BatchGetItem TransactWriteItems"},
		{"grant", func() error { _, err := s.Grants().Grant(t.Context(), first.ID); return err }, "GetItem"},
		{"the end of a grant", func() error { _, err := grant.End(t.Context(), s.Grants(), first.ID, start); return err }, "GetItem UpdateItem"},
		{"the end of a grant again", func() error { _, err := grant.End(t.Context(), s.Grants(), first.ID, start); return err }, "GetItem"},
		{"grants", func() error { _, err := s.Grants().Grants(t.Context(), "key_a", "key_b"); return err }, "BatchGetItem BatchGetItem"},
		{"no grants", func() error { _, err := s.Grants().Grants(t.Context(), "key_c"); return err }, "BatchGetItem"},
		{"keys", func() error { _, err := s.Accounts().Keys(t.Context(), "ada"); return err }, "GetItem BatchGetItem"},
	} {
		wire.reset(nil)
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := strings.Join(wire.requests(), " "); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

// A scan returns pages of 1 MB.
func TestListsReadAllPages(t *testing.T) {
	s := fresh(t)
	for i := range 30 {
		filler := item{pk: text(fmt.Sprintf("filler#%02d", i)), "f": text(strings.Repeat("x", 100_000))}
		_, err := s.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.tables.Accounts, Item: filler})
		if err != nil {
			t.Fatal(err)
		}
		if i%10 != 0 {
			continue
		}
		ring := account.Keyring{Store: s.Accounts(), Plans: account.DefaultPlans(), Now: time.Now}
		id := fmt.Sprintf("user%02d", i)
		_, err = ring.CreateUser(t.Context(), id, "free")
		if err == nil {
			_, _, err = ring.CreateKey(t.Context(), id, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	wire := &faultyWire{}
	keys, err := New(clientOver(t, wire), s.tables).Accounts().Keys(t.Context(), "")
	if err != nil || len(keys) != 3 {
		t.Errorf("%d keys, %v; want 3", len(keys), err)
	}
	if n := len(wire.requests()); n < 2 {
		t.Errorf("%d request, so the test has shown nothing about pages", n)
	}
}

func BenchmarkAdmit(b *testing.B) {
	s := fresh(b)
	for b.Loop() {
		a := admissionAt(time.Now(), "m", 1<<40)
		if d, err := s.Usage().Admit(b.Context(), a); err != nil || !d.Admitted {
			b.Fatal(d, err)
		}
	}
}
