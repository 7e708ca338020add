package contract

// Limits hold for every caller. A description that states none, such as a projection, has
// none, and no door serves from it.
type Limits struct {
	// AnswerBytes is the largest body of an answer, over REST and over MCP.
	AnswerBytes int `json:"answer_bytes"`
	// Resources is API Gateway's quota of nodes in the tree of paths.
	Resources int `json:"resources"`
	// Plan bounds what a plan may say. Terraform reads the same bounds.
	Plan PlanBounds `json:"plan"`
}

// PlanBounds are inclusive. A plan's limits start at 0 units, and its burst at 1 call.
type PlanBounds struct {
	Name           string  `json:"name"`       // a regular expression
	MostUnits      int64   `json:"most_units"` // of a month or a day
	LeastPerSecond float64 `json:"least_per_second"`
	MostPerSecond  float64 `json:"most_per_second"`
	MostBurst      int     `json:"most_burst"`
}

// envelope is the most that MCP adds to an operation's answer, in bytes: JSON-RPC, the
// caller's id and progress token of 256 bytes each, and three progress events.
const envelope = 4 << 10

// Fits reports whether an operation's answer, a JSON text, is within AnswerBytes through
// either door. Over MCP it is sent twice: as structured content, and again as a string, in
// which quotes and backslashes take two bytes. The measure is the same over REST, so that
// a call which is too large for one door fails in the function, and is given back.
func (l Limits) Fits(answer []byte) bool {
	size := envelope + 2*len(answer)
	for _, b := range answer {
		if b == '"' || b == '\\' || b < ' ' {
			size++
		}
	}
	return size <= l.AnswerBytes
}
