package worstcase

import (
	"encoding/json"
	"errors"
)

// Read finds the ceilings in what Terraform prints: `terraform show -json` of a plan or a state,
// or `terraform output -json`.
func Read(printed []byte) (Ceilings, error) {
	type outputs map[string]struct {
		Value json.RawMessage `json:"value"`
	}
	var shown struct {
		Planned struct{ Outputs outputs } `json:"planned_values"`
		Values  struct{ Outputs outputs } `json:"values"`
	}
	var alone outputs
	if err := json.Unmarshal(printed, &shown); err != nil {
		return Ceilings{}, errors.New("this is not the JSON of terraform show -json or terraform output -json")
	}
	_ = json.Unmarshal(printed, &alone) // what terraform show prints is something else
	for _, found := range []outputs{shown.Planned.Outputs, shown.Values.Outputs, alone} {
		if output, ok := found["ceilings"]; ok && output.Value != nil {
			var c Ceilings
			return c, json.Unmarshal(output.Value, &c)
		}
	}
	return Ceilings{}, errors.New("there is no output `ceilings`: a root has to pass that of the stack on, as envs/dev does")
}
