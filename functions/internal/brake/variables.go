package brake

// The names of the contract's states of the stage variables.
const (
	stateOpen   = "open"
	stateBraked = "braked"
)

// Variables are the stage variables of a state of the service, out of the contract's.
func Variables(states map[string]map[string]string, braked bool) map[string]string {
	if braked {
		return states[stateBraked]
	}
	return states[stateOpen]
}

// Says reads the live stage variables: whether they are those of the brake. Others than the
// contract's may be among them.
func Says(live map[string]string, states map[string]map[string]string) bool {
	for name, value := range states[stateBraked] {
		if live[name] != value {
			return false
		}
	}
	return len(states[stateBraked]) > 0
}
