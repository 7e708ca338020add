// Package dynamo keeps accounts, grants and usage in two DynamoDB tables: the store in AWS.
//
// Both tables have a partition key, pk, and no sort key. Items of the accounts table:
//
//	user#<id>   plan, created_at, v (counts changes), keys (set of key IDs)
//	key#<id>    hash, meter, user, plan, name, created_at, revoked_at, off_categories, off_tools
//	brake#<api>/<stage>   state, v (counts changes)
//	grant#<id>            state, v (counts changes)
//	grants#<key id>       grants (set of grant IDs), v (counts changes)
//
// Items of the usage table:
//
//	meter#<meter>#<2026-11>   used, refunded, denied, +<operation>, -<operation>, s0 … s5
//	refund#<admission id>
//	once#<name>#<2026-11>     what was announced
//	bucket#<name>             tat
//	daily#<quota>#<day>       state, v
//
// TTL removes items by the epoch second expires_at; users, keys and the brake have none.
//
// A function's rights go by these prefixes; functions.tf gives them.
//
// Attributes are flat. +<operation> is the units charged for an operation, -<operation> the
// units refunded, and s0 … s5 hold recent admissions; see admit.go. Names are short because
// a write costs one write unit per KB of the item.
package dynamo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/account"
	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Tables are the names of the two tables.
type Tables struct{ Accounts, Usage string }

// Store is the pair of tables. It is safe for concurrent use, even by many processes.
type Store struct {
	client *dynamodb.Client
	tables Tables
	// attempt is the longest that Admit waits for the answer to one write.
	attempt time.Duration
	seen    seen
	// Jitter is the random part of the waits between repeated writes, below its argument.
	Jitter func(time.Duration) time.Duration
}

// attemptTimeout is far above DynamoDB's usual 10 ms or so: giving up on a write leaves its
// outcome unclear, and under load turns one slow write into many. A nearer deadline of the
// caller, such as the authorizer's, shortens it; see send.
const attemptTimeout = 15 * time.Second

// New makes a store over two existing tables.
func New(client *dynamodb.Client, tables Tables) *Store {
	return &Store{client: client, tables: tables, attempt: attemptTimeout, Jitter: rand.N[time.Duration]}
}

// FromEnv is the store.Open of a Lambda function. The variables of its tables must be set.
func FromEnv(env boot.Env, tables ...string) (store.Store, error) {
	cfg, err := awsconfig.Config(env)
	if err != nil {
		return nil, err
	}
	for _, name := range tables {
		if _, err := env.Required(name); err != nil {
			return nil, err
		}
	}
	return New(dynamodb.NewFromConfig(cfg), Tables{
		Accounts: env(boot.AccountsTable), Usage: env(boot.UsageTable),
	}), nil
}

// mostConnecting bounds what Connected waits for.
const mostConnecting = time.Second

// Connected is FromEnv with a connection that is open. A function starts with a whole processor, and
// serves its first call with the share that its memory buys, a seventh at 256 MB; so whatever a first
// request takes, root certificates above all, is done before. If that fails, the first call says so.
func Connected(env boot.Env, tables ...string) (store.Store, error) {
	s, err := FromEnv(env, tables...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), mostConnecting)
	defer cancel()
	_, _ = s.Accounts().Key(ctx, "none")
	return s, nil
}

// Accounts is the store of users and keys.
func (s *Store) Accounts() account.Store { return accounts{s} }

// Grants is the store of grants.
func (s *Store) Grants() grant.Store { return grants{s} }

// Usage is the store of counters.
func (s *Store) Usage() usage.Store { return meters{s} }

// Buckets is the store of token buckets.
func (s *Store) Buckets() ratelimit.BucketStore { return buckets{s} }

// Dailies is the store of daily quotas.
func (s *Store) Dailies() ratelimit.DailyStore { return dailies{s} }

// get reads one item with strong consistency; nil if it doesn't exist.
func (s *Store) get(ctx context.Context, table, pk string) (item, error) {
	consistent := true
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key(pk), ConsistentRead: &consistent})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}

// mostInBatch is how many items BatchGetItem takes.
const mostInBatch = 100

// getAll reads items by their keys, which are distinct, strongly consistent. Items that don't
// exist are left out, and there is no order.
func (s *Store) getAll(ctx context.Context, table string, keys []string, visit func(item) error) error {
	for batch := range slices.Chunk(keys, mostInBatch) {
		if err := s.getBatch(ctx, table, batch, visit); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) getBatch(ctx context.Context, table string, keys []string, visit func(item) error) error {
	var wanted []map[string]types.AttributeValue
	for _, k := range keys {
		wanted = append(wanted, key(k))
	}
	for n := 1; len(wanted) > 0; n++ {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			table: {Keys: wanted, ConsistentRead: aws.Bool(true)},
		}})
		if err != nil {
			return err
		}
		for _, i := range out.Responses[table] {
			if err := visit(i); err != nil {
				return err
			}
		}
		wanted = out.UnprocessedKeys[table].Keys
		if len(wanted) > 0 && (n == maxRaces || !pause(ctx, n)) {
			return fmt.Errorf("%d items were not read; try again", len(wanted))
		}
	}
	return nil
}
