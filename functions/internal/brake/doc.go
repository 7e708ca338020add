// Package brake stops spending. On a message from an alarm or a budget, or by hand, it sets
// functions' reserved concurrency to 0, remembers the previous values, notifies finance once,
// and puts everything back when somebody releases it.
//
// The wanted state and the previous ceilings are in one item of the store (State), which is
// only changed by compare-and-swap on its version. The run that changed the item carries the
// change out in repeatable steps; if it dies half-way, a redelivery of its message, the next
// message or `sekisho brake on` completes it. A run that finds at its end that the item has
// changed carries out the newer state. So with any number of concurrent runs, the last
// change to the item wins. While a laptop's service does not run, only the item is changed
// (Offline), and the next start carries it out.
//
// The live stage variables say whether the brake is on. While they say "braked", the
// authorizer admits calls without taking units, so nothing may be able to start: they are
// set after the ceilings are lowered, and reset before the ceilings are raised. A
// `terraform apply` restores both; the item is then out of date, and the next message that
// trips the brake records the ceilings anew.
//
// No message ever releases the brake. Only Release does.
package brake
