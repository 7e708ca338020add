package dynamo

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/config"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/moto"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/ratelimit/ratelimittest"
	"sekisho/functions/internal/storetest"
	"sekisho/functions/internal/usage"
)

var emulator moto.Shared

func TestMain(m *testing.M) {
	// The emulator answers some hundred requests per second: fewer random sequences here,
	// a hundred in package sqlite. The command line can ask for more.
	_ = flag.Set("rapid.checks", "30")
	os.Exit(emulator.Run(m))
}

var serial atomic.Int64

// clientOver makes a client of the emulator whose requests go through a transport.
func clientOver(t testing.TB, transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "ap-northeast-1",
		BaseEndpoint: aws.String(emulator.Endpoint(t)),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   &http.Client{Transport: transport},
		// The SDK's own retries, without its waits of seconds.
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
			o.RateLimiter = sdkratelimit.None
		}),
	})
}

func freshTables(t testing.TB) Tables {
	t.Helper()
	n := serial.Add(1)
	names := Tables{Accounts: fmt.Sprintf("accounts-%d", n), Usage: fmt.Sprintf("usage-%d", n)}
	if err := CreateTables(t.Context(), clientOver(t, http.DefaultTransport), names); err != nil {
		t.Fatal(err)
	}
	return names
}

func fresh(t testing.TB) *Store {
	t.Helper()
	return patient(New(clientOver(t, http.DefaultTransport), freshTables(t)))
}

// patient makes a store wait long: 200 calls at once keep the emulator busy for a second,
// on a busy machine for many. A timeout would be one more fault, and not a planned one.
func patient(s *Store) *Store {
	s.attempt = time.Minute
	return s
}

// Case 7, floci#571: an emulator that returns duplicates would prove nothing about us.
func TestCase7EmulatorCountsParallelAddsOnce(t *testing.T) {
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

func TestAccounts(t *testing.T) {
	storetest.Accounts(t, func(t *testing.T) account.Store { return fresh(t).Accounts() })
}

func TestUsage(t *testing.T) {
	storetest.Usage(t, func(t *testing.T) usage.Store { return fresh(t).Usage() })
}

func TestUsageShared(t *testing.T) {
	storetest.UsageShared(t, func(t *testing.T) (a, b usage.Store) {
		s := fresh(t)
		return s.Usage(), patient(New(clientOver(t, http.DefaultTransport), s.tables)).Usage()
	})
}

func TestBrake(t *testing.T) {
	storetest.Brake(t, func(t *testing.T) func(string) brake.Memory { return fresh(t).Brake })
}

func TestBuckets(t *testing.T) {
	ratelimittest.TestBucketStore(t, func(t *testing.T) ratelimit.BucketStore { return fresh(t).Buckets() })
}

func TestDailies(t *testing.T) {
	ratelimittest.TestDailyStore(t, func(t *testing.T) ratelimit.DailyStore { return fresh(t).Dailies() })
}

func TestTablesAreAsDefined(t *testing.T) {
	s := fresh(t)
	for name, ttl := range map[string]string{s.tables.Accounts: "", s.tables.Usage: expiresAt} {
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
		if got := aws.ToString(live.TimeToLiveDescription.AttributeName); got != ttl {
			t.Errorf("%s: TTL on %q, want %q", name, got, ttl)
		}
	}
}

func TestFromEnvNamesWhatIsMissing(t *testing.T) {
	env := map[string]string{"AWS_REGION": "ap-northeast-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	get := func(name string) string { return env[name] }
	for _, name := range []string{"SEKISHO_ACCOUNTS_TABLE", "SEKISHO_USAGE_TABLE"} {
		if _, err := FromEnv(get, config.AccountsTable, config.UsageTable); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one that names %s", err, name)
		}
		env[name] = "t"
	}
	if s, err := FromEnv(get, config.AccountsTable, config.UsageTable); err != nil || s.tables != (Tables{Accounts: "t", Usage: "t"}) {
		t.Errorf("store %+v, error %v", s, err)
	}
}

// Only the period's key decides which month is counted, but TTL must not remove an item
// too early, and wants seconds.
func TestItemsExpire(t *testing.T) {
	s := fresh(t)
	a := admissionAt(start, "m", 10)
	mustAdmit(t, s, a)
	r := refundOf(a)
	if o, err := s.Usage().Refund(t.Context(), r); err != nil || o != usage.Refunded {
		t.Fatal(o, err)
	}
	if err := s.Usage().AddDenied(t.Context(), "other", a.Period, 1); err != nil {
		t.Fatal(err)
	}
	reset := a.Period.Reset()
	for name, want := range map[string]time.Time{
		meterKey("m", a.Period):     reset.Add(usage.RetainPeriods),
		meterKey("other", a.Period): reset.Add(usage.RetainPeriods),
		"refund#" + a.ID:            reset.Add(usage.RetainRefunds),
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

// A write of up to 1 KB is one write unit. This is a key that used every operation of the
// contract that is charged, and had calls of each refunded.
func TestMeterStaysWithinOneWriteUnit(t *testing.T) {
	api, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := fresh(t)
	u := s.Usage()
	meter := "key_aaaaaaaaaaaaaaaa"
	operations := 0
	for _, op := range api.Operations {
		if op.Units < 1 {
			continue
		}
		operations++
		charge := admissionAt(start, meter, usage.Unlimited)
		charge.Operation, charge.Units = op.ID, 99_998
		mustAdmit(t, s, charge)
		failing := admissionAt(start, meter, usage.Unlimited)
		failing.Operation = op.ID
		mustAdmit(t, s, failing)
		if o, err := u.Refund(t.Context(), refundOf(failing)); err != nil || o != usage.Refunded {
			t.Fatal(o, err)
		}
	}
	for i := range 60 { // fill all slots
		mustAdmit(t, s, admissionAt(start.Add(time.Duration(i)*time.Second), meter, usage.Unlimited))
	}
	if err := u.AddDenied(t.Context(), meter, usage.PeriodOf(start), 100_000); err != nil {
		t.Fatal(err)
	}
	i, err := s.get(t.Context(), s.tables.Usage, meterKey(meter, usage.PeriodOf(start)))
	if err != nil {
		t.Fatal(err)
	}
	if operations == 0 || i.text("s0") == "" || i.text("s5") == "" {
		t.Fatalf("%d operations, item %v", operations, i)
	}
	t.Logf("%d operations: %d bytes", operations, sizeOf(t, i))
	if size := sizeOf(t, i); size > 1024 {
		t.Errorf("the meter has %d bytes with %d operations, a write unit has 1024", size, operations)
	}
}

func TestFifteenOperationsFitOneWriteUnit(t *testing.T) {
	i := key(meterKey("key_aaaaaaaaaaaaaaaa", usage.PeriodOf(start)))
	for n := range slots {
		i["s"+strconv.Itoa(n)] = text(usage.NewAdmissionID(start))
	}
	for name, n := range map[string]int64{attrUsed: 99_999, attrRefunded: 9_999, attrDenied: 99_999, expiresAt: start.Unix()} {
		i[name] = number(n)
	}
	for n := range 15 {
		i[charged+fmt.Sprintf("category.operation_%02d", n)] = number(9_999)
		if n < 10 {
			i[givenBack+fmt.Sprintf("category.operation_%02d", n)] = number(999)
		}
	}
	t.Logf("%d bytes", sizeOf(t, i))
	if size := sizeOf(t, i); size > 1024 {
		t.Errorf("%d bytes, a write unit has 1024", size)
	}
}

// sizeOf counts as DynamoDB documents it: names and texts in UTF-8, numbers a byte for two
// digits and one more. It is rounded up here.
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

// Requests are what costs: one of them per decision, granted or denied.
func TestRoundTrips(t *testing.T) {
	wire := &faultyWire{}
	tables := freshTables(t)
	s := New(clientOver(t, wire), tables)
	created := account.Key{ID: "key_a", Meter: "key_a", UserID: "ada", CreatedAt: start}
	full := admissionAt(start, "m", 1)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"admission", func() error { _, err := s.Usage().Admit(t.Context(), full); return err }, "UpdateItem"},
		{"denial", func() error { _, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", 1)); return err }, "UpdateItem"},
		{"denial at limit 0", func() error { _, err := s.Usage().Admit(t.Context(), admissionAt(start, "m", 0)); return err }, "GetItem"},
		{"refund", func() error { _, err := s.Usage().Refund(t.Context(), refundOf(full)); return err }, "TransactWriteItems"},
		{"refund again", func() error { _, err := s.Usage().Refund(t.Context(), refundOf(full)); return err }, "TransactWriteItems"},
		{"counts", func() error { _, err := s.Usage().Counts(t.Context(), "m", full.Period); return err }, "GetItem"},
		{"user", func() error {
			return s.Accounts().CreateUser(t.Context(), account.User{ID: "ada", Plan: "free", CreatedAt: start})
		}, "TransactWriteItems"},
		{"new key", func() error { return s.Accounts().CreateKey(t.Context(), created) }, "GetItem TransactWriteItems"},
		{"key", func() error { _, err := s.Accounts().Key(t.Context(), "key_a"); return err }, "GetItem"},
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

// A scan answers in pages of 1 MB.
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
		id := fmt.Sprintf("user%02d", i)
		if err := s.Accounts().CreateUser(t.Context(), account.User{ID: id, Plan: "free", CreatedAt: start}); err != nil {
			t.Fatal(err)
		}
	}
	wire := &faultyWire{}
	users, err := New(clientOver(t, wire), s.tables).Accounts().Users(t.Context())
	if err != nil || len(users) != 3 {
		t.Errorf("%d users, %v; want 3", len(users), err)
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
