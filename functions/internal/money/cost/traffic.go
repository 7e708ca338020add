package cost

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Traffic is the calls of a month.
type Traffic struct {
	// Calls are all calls; Denied of them are over a limit, and Failed of the others fail.
	// They are 0 or more, and need not be whole: half a call is an average.
	Calls, Denied, Failed *big.Rat
	Via                   Via
}

// Number is how many calls had an outcome.
func (t Traffic) Number(o Outcome) *big.Rat {
	switch o {
	case Denied:
		return t.Denied
	case Failed:
		return t.Failed
	}
	n := new(big.Rat).Sub(t.Calls, t.Denied)
	return n.Sub(n, t.Failed)
}

// maxCalls is far above what one API can take in a month.
const maxCalls = 1_000_000_000_000

// ParseTraffic reads numbers as people write them: 1000000, or a part such as 10% or 1 %;
// denied is a part of all calls, failed of those that are not denied. "" is none.
func ParseTraffic(calls, denied, failed string, via Via) (Traffic, error) {
	t := Traffic{Via: via}
	var err error
	if t.Calls, err = parseNumber("calls", calls, nil); err != nil {
		return t, err
	}
	if t.Calls.Cmp(big.NewRat(maxCalls, 1)) > 0 {
		return t, fmt.Errorf("calls: at most %d, not %s", int64(maxCalls), calls)
	}
	if t.Denied, err = parseNumber("denied", denied, t.Calls); err != nil {
		return t, err
	}
	admitted := new(big.Rat).Sub(t.Calls, t.Denied)
	if admitted.Sign() < 0 {
		return t, fmt.Errorf("denied: at most all %s calls, not %s", calls, denied)
	}
	if t.Failed, err = parseNumber("failed", failed, admitted); err != nil {
		return t, err
	}
	if t.Failed.Cmp(admitted) > 0 {
		return t, fmt.Errorf("failed: at most the %s calls that are not denied, not %s", admitted.FloatString(0), failed)
	}
	if via != MCP && via != REST {
		return t, errors.New("via: mcp or rest")
	}
	return t, nil
}

var (
	wholeNumber = regexp.MustCompile(`^\d{1,15}$`)
	percentage  = regexp.MustCompile(`^(\d{1,3}(?:\.\d{1,6})?) ?%$`)
)

func parseNumber(name, text string, whole *big.Rat) (*big.Rat, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return new(big.Rat), nil
	}
	if wholeNumber.MatchString(text) {
		n, _ := new(big.Rat).SetString(text) // digits always parse
		return n, nil
	}
	if whole == nil {
		return nil, fmt.Errorf("%s: a whole number of 0 or more, such as 1000000, not %q", name, text)
	}
	m := percentage.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s: a whole number of calls such as 10000, or a part such as 1%% or 0.5%%, not %q", name, text)
	}
	part, _ := new(big.Rat).SetString(m[1])
	if part.Cmp(big.NewRat(100, 1)) > 0 {
		return nil, fmt.Errorf("%s: at most 100%%, not %q", name, text)
	}
	return part.Mul(part, new(big.Rat).Quo(whole, big.NewRat(100, 1))), nil
}
