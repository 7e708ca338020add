// Package ratelimit decides how often an upstream may be called, by a token bucket and by a
// quota per UTC day. Both are exact across any number of instances that share a store.
//
// The decisions are arithmetic on (state, now, limit), in bucket.go and daily.go. All that
// a store has to do is to apply one of them atomically; store.go says how. Contract tests
// for stores are in ratelimittest.
package ratelimit
