// Package brake stops spending: on the message of an alarm or of a budget, or by hand, it
// sets the reserved concurrency of functions to 0, remembers what it was, tells finance
// once, and puts everything back when somebody releases it.
//
// What is wanted is in one item of the store (State, saved only over the version that was
// read), and so is what was there before. The run that changed the item carries it out, in
// steps that may be repeated: if it dies half-way, the repetition of its message, the next
// message or `sekisho brake on` completes it. A run that finds, at its end, that the item was
// changed meanwhile carries out the newer one. So of any number of runs at once, the last word
// in the item is what holds. While a laptop's service does not run, only the item is changed
// (Offline), and the next start carries it out.
//
// The live stage variables say whether the brake is on. They come after the ceilings: while
// they say "braked", the authorizer lets calls through without taking units, and nothing may
// start that would then be free. When it is released they go first, for the same reason.
// A `terraform apply` puts them back together with the ceilings; then the item is out of
// date, and the next message that brakes records the ceilings anew.
//
// No message releases the brake, whatever it says. Only Release does.
package brake
