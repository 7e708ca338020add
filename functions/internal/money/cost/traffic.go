package cost

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// Traffic is a month's calls.
type Traffic struct {
	// Calls are all calls; Denied of them are over a limit, and Failed of the rest fail.
	// They are 0 or more and, being averages, need not be whole.
	Calls, Denied, Failed *big.Rat
	Via                   Via
}

// Number is how many calls had a given outcome.
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

// maxCalls is far above what one API can serve in a month.
const maxCalls = 1_000_000_000_000

// ParseTraffic reads numbers as people write them: 1000000, or a percentage such as 10% or
// 1 %, of all calls for denied, of the calls not denied for failed. "" is 0.
func ParseTraffic(calls, denied, failed string, via Via) (Traffic, error) {
	t := Traffic{Via: via}
	var err error
	if t.Calls, err = parseNumber("calls", calls, nil); err != nil {
		return t, err
	}
	if t.Calls.Cmp(big.NewRat(maxCalls, 1)) > 0 {
		return t, fmt.Errorf("calls: must be at most %d, not %s", int64(maxCalls), calls)
	}
	if t.Denied, err = parseNumber("denied", denied, t.Calls); err != nil {
		return t, err
	}
	admitted := new(big.Rat).Sub(t.Calls, t.Denied)
	if admitted.Sign() < 0 {
		return t, fmt.Errorf("denied: must be at most all %s calls, not %s", calls, denied)
	}
	if t.Failed, err = parseNumber("failed", failed, admitted); err != nil {
		return t, err
	}
	if t.Failed.Cmp(admitted) > 0 {
		return t, fmt.Errorf("failed: must be at most the %s calls that are not denied, not %s", admitted.FloatString(0), failed)
	}
	if !slices.Contains(Ways, via) {
		return t, fmt.Errorf("via: must be one of %q, not %q", Ways, via)
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
		return nil, fmt.Errorf("%s: must be a whole number such as 1000000, not %q", name, text)
	}
	m := percentage.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s: must be a whole number such as 10000 or a percentage such as 0.5%%, not %q", name, text)
	}
	part, _ := new(big.Rat).SetString(m[1])
	if part.Cmp(big.NewRat(100, 1)) > 0 {
		return nil, fmt.Errorf("%s: must be at most 100%%, not %q", name, text)
	}
	return part.Mul(part, new(big.Rat).Quo(whole, big.NewRat(100, 1))), nil
}
