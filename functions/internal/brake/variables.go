package brake

// The contract's names for the two states of the stage variables.
const (
	stateOpen   = "open"
	stateBraked = "braked"
)

// StateName is the contract's name for a state.
func StateName(braked bool) string {
	if braked {
		return stateBraked
	}
	return stateOpen
}

// Variables picks the stage variables for one state out of the contract's states.
func Variables(states map[string]map[string]string, braked bool) map[string]string {
	return states[StateName(braked)]
}

// Says reports whether the live stage variables say that the brake is on. Variables that
// the contract doesn't know are ignored.
func Says(live map[string]string, states map[string]map[string]string) bool {
	for name, value := range states[stateBraked] {
		if live[name] != value {
			return false
		}
	}
	return len(states[stateBraked]) > 0
}
