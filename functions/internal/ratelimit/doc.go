// Package ratelimit decides how often an upstream may be called: a token bucket, and a
// quota per UTC day. Both are exact across any number of instances that share a store.
//
// The decisions are arithmetic on (state, now, limit), in bucket.go and daily.go. A
// store only has to apply one of them atomically; store.go says how little that is.
//
// Budget is the same bucket per caller and instance, without a store, for what is free.
package ratelimit
