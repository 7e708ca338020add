package cost

import (
	"fmt"
	"math/big"
	"strings"

	"sekisho/functions/internal/contract"
)

// Setup is how the functions are deployed and how long they take, by name as in Functions.
type Setup struct {
	// MemoryMB is the memory that the contract gives.
	MemoryMB map[string]int64
	// DurationMS is the billed time per invocation in milliseconds.
	DurationMS map[string]*big.Rat
	// DirectMS is that of mcp where it dispatches calls itself, by what becomes of the call.
	DirectMS map[Ending]*big.Rat
	// WAF says whether a rate rule stands before the API (api.waf in Terraform).
	WAF bool
	// Origin says where the durations come from.
	Origin string
}

// memory of the model's functions, from the contract's table. No function is called
// "business", so that one gets the table's default.
func memory() (map[string]int64, error) {
	api, err := contract.Default()
	if err != nil {
		return nil, err
	}
	mb := map[string]int64{}
	for _, name := range timed() {
		mb[name] = api.Function(name).MemoryMB
	}
	return mb, nil
}

// AssumedMS are estimated durations, since nothing here has been timed on AWS. The
// authorizer and settle wait for one or two DynamoDB requests of about 5 ms each, mcp for the
// REST call and everything behind it. Of the five requests of a sign-in three wait for up to four
// requests to DynamoDB, and one may fetch a client's document.
func AssumedMS() map[string]int64 {
	return map[string]int64{"authorizer": 15, "mcp": 60, "business": 5, "settle": 20, SignInFunction: 20}
}

// Ending is what mcp waited for, where it dispatches calls itself.
type Ending string

// A denial from memory waits for nothing.
const (
	Answered   Ending = "answered"
	GivenBack  Ending = "given_back"
	Refused    Ending = "denied"
	Remembered Ending = "denied_from_memory"
)

// ending of a call of this kind.
func (k Kind) ending() Ending {
	switch {
	case k.Outcome == Admitted:
		return Answered
	case k.Outcome == Failed:
		return GivenBack
	case k.State == Cold:
		return Refused
	}
	return Remembered
}

// AssumedDirectMS are estimates, too: mcp does what the authorizer does, then invokes the function,
// which takes 10 ms beside the function's own time, and 5 ms for what it does itself. Giving back
// is one transaction more.
func AssumedDirectMS() map[Ending]int64 {
	return map[Ending]int64{Answered: 35, GivenBack: 45, Refused: 15, Remembered: 2}
}

// DefaultSetup has the contract's memory and the assumed durations.
func DefaultSetup() (Setup, error) {
	mb, err := memory()
	if err != nil {
		return Setup{}, err
	}
	s := Setup{MemoryMB: mb, Origin: "assumed, not timed on AWS"}
	s.setDurations(AssumedMS())
	s.DirectMS = map[Ending]*big.Rat{}
	for ending, n := range AssumedDirectMS() {
		s.DirectMS[ending] = big.NewRat(n, 1)
	}
	return s, nil
}

// UseLaptop takes the durations that were measured along with the counts, which that of oauth is not.
func (s *Setup) UseLaptop(m *Measurement) {
	s.setDurations(m.LaptopMS)
	s.setDirect(s.DurationMS[mcpDirect])
	delete(s.DurationMS, mcpDirect)
	s.Origin = "measured on a laptop over an emulator of DynamoDB"
}

func (s *Setup) setDurations(ms map[string]int64) {
	if s.DurationMS == nil {
		s.DurationMS = map[string]*big.Rat{}
	}
	for name, n := range ms {
		s.DurationMS[name] = big.NewRat(n, 1)
	}
}

// setDirect has one duration for all endings.
func (s *Setup) setDirect(ms *big.Rat) {
	for ending := range s.DirectMS {
		s.DirectMS[ending] = ms
	}
}

const (
	msPerSecond    = 1000
	megabytesPerGB = 1024
)

// GiveDuration replaces the duration of a function.
func (s *Setup) GiveDuration(function string, ms float64) error {
	if longest := contract.MaxTimeout.Milliseconds(); !(ms >= 0 && ms <= float64(longest)) {
		return fmt.Errorf("the duration of %s must be 0 to %d milliseconds, not %g", function, longest, ms)
	}
	s.DurationMS[function] = new(big.Rat).SetFloat64(ms)
	if function == mcpFunction {
		s.setDirect(s.DurationMS[function])
	}
	if !strings.Contains(s.Origin, "given") {
		s.Origin = "as given by flags, else " + s.Origin
	}
	return nil
}

// GiveMemory replaces the memory of a function.
func (s *Setup) GiveMemory(function string, mb int64) error {
	if _, ok := s.MemoryMB[function]; !ok {
		return fmt.Errorf("unknown function %q; use one of: %s", function, strings.Join(timed(), ", "))
	}
	if mb < contract.MinMemoryMB || mb > contract.MaxMemoryMB {
		return fmt.Errorf("the memory of %s must be %d to %d MB, not %d", function, contract.MinMemoryMB, contract.MaxMemoryMB, mb)
	}
	s.MemoryMB[function] = mb
	return nil
}

// gbSeconds of one invocation by a call of a kind.
func (s *Setup) gbSeconds(function string, k Kind) *big.Rat {
	ms := s.DurationMS[function]
	if function == mcpFunction && k.Via.direct() {
		ms = s.DirectMS[k.ending()]
	}
	gb := big.NewRat(s.MemoryMB[function], megabytesPerGB)
	return gb.Mul(gb, new(big.Rat).Quo(ms, big.NewRat(msPerSecond, 1)))
}
