package usage

import "sekisho/functions/internal/ratelimit"

// FreeRate is how often a key may ask for what takes no units, of each instance that it reaches.
// It leaves room for an agent that starts, lists its tools, diagnoses and looks at its usage, and
// for people who wait for a figure to change.
var FreeRate = ratelimit.Limit{Burst: 50, PerSecond: 10}
