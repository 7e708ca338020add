package contract

// Limits hold for every caller. A description that states none, such as a projection, has
// none, and no door serves from it.
type Limits struct {
	// AnswerBytes is the largest body of an answer, over REST and over MCP.
	AnswerBytes int `json:"answer_bytes"`
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
