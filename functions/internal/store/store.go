// Package store says what a store of Sekisho is: where users, keys and grants, the counters of a
// month, the limits towards the upstream and the state of the brake are kept.
//
// There are two: package sqlite for a laptop, package aws/dynamo for AWS. A third, over
// Postgres say, is a package that implements Store, passes storetest.Run, and has an Open
// that the mains in functions/ hand to their functions in place of dynamo.FromEnv. The
// promises of each part are documented at its interface, in the package that uses it.
package store

import (
	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// Store is an open store, safe for concurrent use, even by many processes.
type Store interface {
	// Accounts keeps users and keys.
	Accounts() account.Store
	// Grants keeps what apps that signed in with a key hold.
	Grants() grant.Store
	// Usage keeps the counters of each meter and month.
	Usage() usage.Store
	// Buckets and Dailies keep what was called and published at the upstream.
	Buckets() ratelimit.BucketStore
	Dailies() ratelimit.DailyStore
	// Brake keeps the state of a service's brake. name distinguishes services.
	Brake(name string) brake.Memory
}

// Open opens the store that a function's environment names. tables are the variables of the
// tables that the function uses, boot.AccountsTable or boot.UsageTable; it may have rights on
// no others.
type Open func(env boot.Env, tables ...string) (Store, error)
