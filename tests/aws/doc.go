// Package aws runs the end-to-end suite against a stack that scripts/test-aws has applied to a
// real AWS account, and tests that script as far as possible without an account.
package aws
