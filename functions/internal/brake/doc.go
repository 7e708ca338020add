// Package brake stops spending. On a message from an alarm or a budget, or by hand, it sets
// functions' reserved concurrency and their methods' throttles to 0, remembers the previous
// values, notifies finance once, and puts everything back when somebody releases it.
//
// Throttled requests are neither billed nor start anything, while a request whose function
// can't start still pays for the gateway and the authorizer. So the throttles stop the cost;
// the concurrency holds for whatever else could start a function.
//
// The wanted state and the previous values are in one item of the store (State), which is
// only changed by compare-and-swap on its version. The run that changed the item carries the
// change out in repeatable steps; if it dies half-way, a redelivery of its message, the next
// message or `sekisho brake on` completes it. A run that finds at its end that the item has
// changed carries out the newer state. So with any number of concurrent runs, the last
// change to the item wins. While a laptop's service does not run, only the item is changed
// (Offline), and the next start carries it out.
//
// The live stage variables say whether the brake is on, to callers and to people. Deploys are
// told before anything is changed (Deploys): they leave what is stopped at 0.
//
// No message ever releases the brake. Only Release does.
package brake
