package brake

import (
	"strings"

	"sekisho/functions/internal/contract"
)

// Config is what a deployment's brake stops, and what it obeys.
type Config struct {
	// Functions are the deployed names of those that it stops.
	Functions []string
	// Topic is the ARN of the only topic that is obeyed; Rules say which of its messages.
	Topic string
	Rules Rules
	// API and Stage are the service whose methods it stops.
	API, Stage string
	// Parameter is the name of the parameter that deploys go by.
	Parameter string
}

// MemoryName is the name of the brake's state in a store.
func (c Config) MemoryName() string { return c.API + "/" + c.Stage }

// Methods are those of the contract that the functions serve, and those without a function
// that the contract has the brake stop.
func (c Config) Methods(api *contract.API) []string {
	stopped := map[string]bool{}
	for _, function := range c.Functions {
		stopped[Undeployed(api, function)] = true
	}
	var methods []string
	for _, m := range api.Methods() {
		if m.Operation.Braked || m.Operation.Function != "" && stopped[m.Operation.Function] {
			methods = append(methods, m.Name)
		}
	}
	return methods
}

// Undeployed is the contract's name of a deployed function, which is called <stack>-<name>; ""
// if the contract has no such function. Of names that would do, the longest is meant.
func Undeployed(api *contract.API, deployed string) string {
	found := ""
	for _, name := range api.AllFunctions() {
		if (deployed == name || strings.HasSuffix(deployed, "-"+name)) && len(name) > len(found) {
			found = name
		}
	}
	return found
}
