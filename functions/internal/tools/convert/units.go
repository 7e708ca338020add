package convert

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"sekisho/functions/internal/tools/toolerr"
)

// UnitsRequest is the input of convert.units.
type UnitsRequest struct {
	Value float64 `json:"value"`
	From  string  `json:"from"` // unit id such as m, kg, tsubo, or a usual way to write it
	To    string  `json:"to"`
}

// UnitsResponse is the output of convert.units. From and To are unit ids.
type UnitsResponse struct {
	Value     float64 `json:"value"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Result    float64 `json:"result"`
	Dimension string  `json:"dimension"`
}

// ConvertUnits converts a quantity between units of one dimension. The value is
// taken as the decimal number that it is written as, the factors are rational
// numbers, and only the result is rounded, once, to the nearest float64. A
// temperature is a point on its scale and not below absolute zero.
func ConvertUnits(req UnitsRequest) (UnitsResponse, error) {
	if math.IsNaN(req.Value) || math.IsInf(req.Value, 0) {
		return UnitsResponse{}, toolerr.Invalid("value", "value is no finite number. Give a decimal number such as 30 or 1.5e3.")
	}
	from, to, err := unitPair(req.From, req.To)
	if err != nil {
		return UnitsResponse{}, err
	}
	base := decimal(req.Value)
	base.Add(base, from.offset).Mul(base, from.factor)
	if from.dimension == "temperature" && base.Sign() < 0 {
		return UnitsResponse{}, toolerr.Outside("value", "%v %s is below absolute zero (-273.15 celsius, 0 kelvin). Check value and unit.", req.Value, from.id)
	}
	exact := base.Quo(base, to.factor)
	exact.Sub(exact, to.offset)
	result, _ := exact.Float64()
	if math.IsInf(result, 0) || result == 0 && exact.Sign() != 0 {
		return UnitsResponse{}, toolerr.Outside("value", "%v %s is too large or too small a number of %s. Choose a unit nearer in size: %s.", req.Value, from.id, to.id, idsOf(to.dimension))
	}
	return UnitsResponse{Value: req.Value, From: from.id, To: to.id, Result: result, Dimension: to.dimension}, nil
}

// decimal gives the number that a finite value is written as: 0.1 is 1/10.
func decimal(value float64) *big.Rat {
	return rational(strconv.FormatFloat(value, 'g', -1, 64))
}

// unitPair finds both units; they must measure the same.
func unitPair(from, to string) (unit, unit, error) {
	u, okFrom := unitNamed(from)
	v, okTo := unitNamed(to)
	switch {
	case !okFrom:
		return u, v, unknownUnit("from", from, v.dimension)
	case !okTo:
		return u, v, unknownUnit("to", to, u.dimension)
	case u.dimension != v.dimension:
		return u, v, toolerr.Invalid("to", "%s is a unit of %s and %s one of %s: they do not convert. For %s give one of: %s.",
			u.id, u.dimension, v.id, v.dimension, u.id, idsOf(u.dimension))
	}
	return u, v, nil
}

// foldUnit brings the name of a unit into one form. Widths, case and spaces do not
// matter, and m² is m2.
func foldUnit(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(norm.NFKC.String(name)), ""))
}

// unitNamed finds a unit by its id or another usual name, also in the English plural.
func unitNamed(name string) (unit, bool) {
	if len(name) > 64 || ambiguous(name) {
		return unit{}, false
	}
	folded := foldUnit(name)
	if u, ok := unitSpelled(folded); ok {
		return u, true
	}
	if len(folded) >= len("tons") {
		return unitSpelled(strings.TrimSuffix(folded, "s"))
	}
	return unit{}, false
}

func unitSpelled(folded string) (unit, bool) {
	for _, u := range units {
		if u.id == folded || slices.Contains(u.aliases, folded) {
			return u, true
		}
	}
	return unit{}, false
}

// ambiguous: Mb, Gb and the like mean bits to some and bytes to others.
func ambiguous(name string) bool {
	return len(name) == 2 && strings.Contains("KMGTP", name[:1]) && name[1] == 'b'
}

// unknownUnit lists the units of the dimension that was most likely meant: that of
// the other unit where it is known, else that of the most similar name.
func unknownUnit(param, name, dimension string) error {
	if ambiguous(name) {
		prefix := strings.ToLower(name[:1])
		return toolerr.Invalid(param, "%s can mean bits or bytes. Give %sbit or %sb (bytes).", name, prefix, prefix)
	}
	if dimension == "" {
		dimension = closest(name)
	}
	return toolerr.Invalid(param, "%s is no known unit. Units of %s: %s. Other dimensions: %s.",
		toolerr.Quote(name), dimension, idsOf(dimension), strings.Join(without(dimensionNames, dimension), ", "))
}

func without(list []string, one string) (rest []string) {
	for _, s := range list {
		if s != one {
			rest = append(rest, s)
		}
	}
	return rest
}

// closest gives the dimension of the unit whose name is most like this one.
func closest(name string) string {
	if len(name) > 64 {
		name = name[:64]
	}
	folded := foldUnit(name)
	best, dimension := math.MaxFloat64, dimensionNames[0]
	for _, u := range units {
		for _, known := range append([]string{u.id}, u.aliases...) {
			longest := max(utf8.RuneCountInString(known), utf8.RuneCountInString(folded), 1)
			if d := float64(edits(known, folded)) / float64(longest); d < best {
				best, dimension = d, u.dimension
			}
		}
	}
	return dimension
}

// edits is the Levenshtein distance in characters.
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(y)]
}
