// Package cost prices calls: what a call makes the service do, measured by running it, times
// the prices of package price. All arithmetic is exact; only output is rounded. The package
// calls no AWS and reads no clock.
package cost
