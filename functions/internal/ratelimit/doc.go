// Package ratelimit decides how often an upstream may be called (REQUIREMENTS C5, C6):
// a token bucket, and a quota per UTC day. Both are exact across any number of
// instances that share a store.
//
// The decisions are arithmetic on (state, now, limit), in bucket.go and daily.go. A
// store only has to apply one of them atomically; store.go says how little that is.
// Contract tests for stores are in ratelimittest.
package ratelimit
