// Package aws runs the end-to-end suite against a stack that scripts/test-aws applied to a
// real AWS account, and tests that script as far as that goes without one.
package aws
