// Package dynamo keeps accounts and usage in two DynamoDB tables: the store in AWS.
//
// Both tables have nothing but a partition key, pk. Items of the accounts table:
//
//	user#<id>   plan, created_at, v (counts changes), keys (set of key IDs)
//	key#<id>    hash, meter, user, plan, name, created_at, revoked_at, off_categories, off_tools
//	brake#<api>/<stage>   state, v (counts changes)
//
// Items of the usage table, with the epoch second expires_at as TTL:
//
//	meter#<meter>#<2026-11>   used, refunded, denied, +<operation>, -<operation>, s0 … s5
//	refund#<admission id>
//	bucket#<name>             tat
//	daily#<quota>#<day>       state, v
//
// Attributes are flat. +<operation> is what an operation was charged, -<operation> what of
// it was given back, and s0 … s5 hold recent admissions; see admit.go. The names are short
// because a write of up to 1 KB costs one unit.
package dynamo

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/account"
	awsconfig "sekisho/functions/internal/aws/config"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// Store is the pair of tables. It is safe for concurrent use, also from many processes.
type Store struct {
	client *dynamodb.Client
	tables Tables
	// attempt is the longest wait for the answer to one write of Admit.
	attempt time.Duration
	seen    seen
	// Jitter is the random part of the waits between repeated writes, below its argument.
	Jitter func(time.Duration) time.Duration
}

// attemptTimeout is far above what DynamoDB takes (some ten milliseconds): a write that is
// given up too early is of unknown fate, and under load that makes many out of a slow one.
// Where the caller's deadline is nearer than twice this, as the authorizer's is, it decides.
const attemptTimeout = 15 * time.Second

// New makes a store over two tables that exist.
func New(client *dynamodb.Client, tables Tables) *Store {
	return &Store{client: client, tables: tables, attempt: attemptTimeout, Jitter: rand.N[time.Duration]}
}

// FromEnv makes the store of a Lambda function from its environment. tables are the
// variables of the tables that the function uses, boot.AccountsTable or
// boot.UsageTable: these must be set. It is given rights on no others.
func FromEnv(getenv func(name string) string, tables ...string) (*Store, error) {
	env := boot.Env(getenv)
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

// Accounts is the store of users and keys.
func (s *Store) Accounts() account.Store { return accounts{s} }

// Usage is the store of counters.
func (s *Store) Usage() usage.Store { return meters{s} }

// Buckets is the store of token buckets.
func (s *Store) Buckets() ratelimit.BucketStore { return buckets{s} }

// Dailies is the store of daily quotas.
func (s *Store) Dailies() ratelimit.DailyStore { return dailies{s} }

// get reads one item, strongly consistent; nil if it doesn't exist.
func (s *Store) get(ctx context.Context, table, pk string) (item, error) {
	consistent := true
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key(pk), ConsistentRead: &consistent})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}
