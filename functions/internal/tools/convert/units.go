package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/tools/toolerr"
)

// UnitsRequest is the input of convert.units.
type UnitsRequest struct {
	Value float64 `json:"value"`
	From  string  `json:"from"` // unit id such as m, kg, tsubo, or a usual way to write it
	To    string  `json:"to"`

	// exact is the value as it was sent; nil where Value is all there is.
	exact *big.Rat
}

// UnmarshalJSON keeps the digits of a value that a float64 has no room for.
func (r *UnitsRequest) UnmarshalJSON(text []byte) error {
	type plain UnitsRequest
	in := struct {
		*plain
		Value json.Number `json:"value"`
	}{plain: (*plain)(r)}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	var err error
	if r.Value, err = in.Value.Float64(); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	// Huge exponents come no further: the nearest float64 of such a value is 0, or an error.
	if r.exact = nil; r.Value != 0 {
		r.exact = rational(in.Value.String())
	}
	return nil
}

// value is what is converted.
func (r UnitsRequest) value() *big.Rat {
	if r.exact != nil {
		return new(big.Rat).Set(r.exact)
	}
	return decimal(r.Value)
}

// UnitsResponse is the output of convert.units. From and To are unit ids. Note says which
// unit a name was taken for where it can mean several, and has all digits where numbers have no
// room for them; nil if there is nothing to say.
type UnitsResponse struct {
	Value     float64 `json:"value"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Result    float64 `json:"result"`
	Dimension string  `json:"dimension"`
	Note      *string `json:"note"`
}

// ConvertUnits converts a quantity between units of one dimension. The value is
// taken as the decimal number that it is written as, the factors are rational
// numbers, and only the result is rounded, once, to the nearest float64. A
// temperature is a point on its scale and not below absolute zero.
func ConvertUnits(req UnitsRequest) (UnitsResponse, error) {
	if math.IsNaN(req.Value) || math.IsInf(req.Value, 0) {
		return UnitsResponse{}, toolerr.Invalid("value", "The value is not a finite number. Give a decimal number such as 30 or 1.5e3.")
	}
	from, to, err := unitPair(req.From, req.To)
	if err != nil {
		return UnitsResponse{}, err
	}
	base := req.value()
	base.Add(base, from.offset).Mul(base, from.factor)
	if from.dimension == "temperature" && base.Sign() < 0 {
		return UnitsResponse{}, toolerr.Outside("value", "%v %s is below absolute zero (0 kelvin, -273.15 celsius, -459.67 fahrenheit). Check value and unit with the user.", req.Value, from.id)
	}
	exact := base.Quo(base, to.factor)
	exact.Sub(exact, to.offset)
	result, _ := exact.Float64()
	if math.IsInf(result, 0) || result == 0 && exact.Sign() != 0 {
		return UnitsResponse{}, notANumber(req.Value, from, to, result)
	}
	return UnitsResponse{
		Value: req.Value, From: from.id, To: to.id, Result: result, Dimension: to.dimension,
		Note: unitsNote(req, from, to, exact),
	}, nil
}

// notANumber refuses a result that a number can't hold, and says which way to go.
func notANumber(value float64, from, to unit, result float64) error {
	size, other := "large", "larger"
	if result == 0 {
		size, other = "small", "smaller"
	}
	return toolerr.Outside("value", "The result is too %s a number: %v %s in %s. Give a unit that is %s than %s for to, out of: %s.",
		size, value, from.id, to.id, other, to.id, idsOf(to.dimension))
}

// maxExact is how far every whole number is a float64 of its own.
const maxExact = 1 << 53

func unitsNote(req UnitsRequest, from, to unit, result *big.Rat) *string {
	var said []string
	for _, one := range []struct {
		name string
		is   unit
	}{{req.From, from}, {req.To, to}} {
		kind, ok := kinds[one.is.id]
		folded := strings.ToLower(writtenUnit(one.name))
		if ok && slices.ContainsFunc(strings.Fields(kind.names), func(vague string) bool { return vague == folded || vague+"s" == folded }) {
			said = append(said, fmt.Sprintf("%s is %s.", one.name, kind.is))
		}
	}
	slices.Sort(said)
	said = slices.Compact(said)
	if value := req.value(); math.Abs(req.Value) >= maxExact || value.Cmp(decimal(req.Value)) != 0 {
		said = append(said, fmt.Sprintf("The value was read as %s, and the exact result is %s; the numbers in this answer keep 15 to 17 digits.", plainly(value), plainly(result)))
	}
	if len(said) == 0 {
		return nil
	}
	note := strings.Join(said, " ")
	return &note
}

// decimal gives the number that a finite value is written as: 0.1 is 1/10.
func decimal(value float64) *big.Rat {
	return rational(strconv.FormatFloat(value, 'g', -1, 64))
}

// mostDigits is how many digits people still read, before and after the point each.
const mostDigits = 30

// plainly writes a number with all its digits, as long as people read it so.
func plainly(value *big.Rat) string {
	decimals, ends := value.FloatPrec()
	if text := value.FloatString(decimals); ends && decimals <= mostDigits && len(text) <= 2*mostDigits {
		return text
	}
	f, _ := value.Float64()
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if value.Cmp(decimal(f)) != 0 {
		text = "about " + text
	}
	return text
}
