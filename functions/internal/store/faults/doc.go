// Package faults holds no product code. Its tests run the metering of a small deployment in
// virtual time, with faults of every kind between it and its store, and a model that checks
// after each run what must always hold:
//
//   - at every instant, succeeded + in flight stay within the month, the day and the rate;
//   - succeeded ≤ charged ≤ attempted, and what is charged beyond what succeeded or stays
//     charged by rule is at most what writes of unknown fate can have taken;
//   - each failed call is refunded once, to the month and day that were charged;
//   - nothing is negative, and no key's figures appear in another's.
//
// A run depends on its seed alone. SEKISHO_FAULT_SEEDS says how many to run; a seed that fails
// is shrunk to a short run, which is printed as a line for TestSeedsThatFailed.
package faults
