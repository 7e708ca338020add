package brake

// Config is what a deployment's brake stops, and what it obeys.
type Config struct {
	// Functions are the deployed names of those that it stops.
	Functions []string
	// Topic is the ARN of the only topic that is obeyed; Rules say which of its messages.
	Topic string
	Rules Rules
	// API and Stage are the service whose stage variables say that the brake is on.
	API, Stage string
}

// MemoryName is the name of the brake's state in a store.
func (c Config) MemoryName() string { return c.API + "/" + c.Stage }
