package convert

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sekisho/functions/internal/tools/toolerr"
)

func TestUnitsKnownValues(t *testing.T) {
	for _, c := range []struct {
		value    float64
		from, to string
		want     float64
	}{
		{30, "tsubo", "m2", 12000.0 / 121},
		{1, "shaku", "m", 10.0 / 33},
		{33, "shaku", "m", 10},
		{10, "sun", "shaku", 1},
		{6, "shaku", "ken", 1},
		{60, "ken", "cho", 1},
		{36, "cho", "ri", 1},
		{11, "ri", "m", 43200},
		{121, "tsubo", "m2", 400},
		{2, "jo", "tsubo", 1},
		{30, "tsubo", "se", 1},
		{300, "tsubo", "tan", 1},
		{10, "tan", "chobu", 1},
		{1, "kan", "kg", 3.75},
		{1000, "momme", "kan", 1},
		{160, "momme", "kin", 1},
		{1331, "sho", "l", 2401},
		{10, "go", "sho", 1},
		{10, "sho", "to", 1},
		{10, "to", "koku", 1},
		{1, "in", "cm", 2.54},
		{0.1, "m", "cm", 10},
		{1.1, "km", "m", 1100},
		{0.3, "m", "mm", 300},
		{1, "mi", "km", 1.609344},
		{1, "lb", "g", 453.59237},
		{16, "oz", "lb", 1},
		{1, "acre", "m2", 4046.8564224},
		{640, "acre", "mi2", 1},
		{1, "gal", "l", 3.785411784},
		{231, "in3", "gal", 1},
		{4, "qt", "gal", 1},
		{128, "floz", "gal", 1},
		{100, "celsius", "fahrenheit", 212},
		{-40, "fahrenheit", "celsius", -40},
		{0, "kelvin", "celsius", -273.15},
		{37.2, "celsius", "kelvin", 310.35},
		{0, "celsius", "rankine", 491.67},
		{36, "km/h", "m/s", 10},
		{1, "kn", "km/h", 1.852},
		{1, "mph", "km/h", 1.609344},
		{1, "byte", "bit", 8},
		{1, "gib", "mib", 1024},
		{1, "gb", "mb", 1000},
		{8, "mbit", "mb", 1},
		{-5, "m", "cm", -500},
		{0, "m", "km", 0},
		{5e-324, "m", "m", 5e-324},
		{math.MaxFloat64, "g", "g", math.MaxFloat64},
	} {
		got, err := ConvertUnits(UnitsRequest{c.value, c.from, c.to})
		if err != nil || got.Result != c.want || got.Value != c.value || got.From != c.from || got.To != c.to {
			t.Errorf("%v %s in %s: got %+v, %v; want %v", c.value, c.from, c.to, got, err, c.want)
		}
	}
}

func TestUnitsAreFoundByUsualNames(t *testing.T) {
	for name, id := range map[string]string{
		"坪": "tsubo", "㎡": "m2", "m²": "m2", "ｋｇ": "kg", "KG": "kg", " Meter ": "m", "℃": "celsius", "°F": "fahrenheit", "K": "kelvin",
		"μm": "um", "µm": "um", "升": "sho", "MB": "mb", "kB": "kb", "GiB": "gib", "Nautical Mile": "nmi", "㎞": "km", "町": "cho",
		"metres": "m", "miles": "mi", "inches": "in", "Pounds": "lb", "bits": "bit", "tons": "t", "feet": "ft",
	} {
		if u, ok := unitNamed(name); !ok || u.id != id {
			t.Errorf("%s: got %q, want %q", name, u.id, id)
		}
	}
}

func TestNamesOfUnitsAreUnique(t *testing.T) {
	seen, known := map[string]string{}, map[string]bool{}
	for _, d := range dimensionNames {
		known[d] = true
	}
	for _, u := range units {
		if !known[u.dimension] || u.factor.Sign() <= 0 {
			t.Errorf("%s: dimension %s, factor %s", u.id, u.dimension, u.factor)
		}
		for _, name := range append([]string{u.id}, u.aliases...) {
			if other, doubled := seen[name]; doubled {
				t.Errorf("%q is %s and %s", name, other, u.id)
			}
			if foldUnit(name) != name {
				t.Errorf("%q can't be found: it folds to %q", name, foldUnit(name))
			}
			seen[name] = u.id
		}
	}
}

func TestUnitsRefuse(t *testing.T) {
	for _, c := range []struct {
		req    UnitsRequest
		code   toolerr.Code
		param  string
		saying []string
	}{
		{UnitsRequest{1, "m", "kg"}, toolerr.InvalidArgument, "to", []string{"length", "mass", "shaku"}},
		{UnitsRequest{1, "tsubo", "m"}, toolerr.InvalidArgument, "to", []string{"area", "m2", "ha"}},
		{UnitsRequest{1, "tsubi", "furlongs"}, toolerr.InvalidArgument, "from", []string{"area", "tsubo"}},
		{UnitsRequest{1, "parsec", "km"}, toolerr.InvalidArgument, "from", []string{"length", "ri"}},
		{UnitsRequest{1, "kg", "stone"}, toolerr.InvalidArgument, "to", []string{"mass", "momme"}},
		{UnitsRequest{1, "", ""}, toolerr.InvalidArgument, "from", []string{"length"}},
		{UnitsRequest{1, "celcius", "F"}, toolerr.InvalidArgument, "from", []string{"celsius"}},
		{UnitsRequest{1, "Mb", "kb"}, toolerr.InvalidArgument, "from", []string{"mbit", "mb"}},
		{UnitsRequest{1, "\xff", "m"}, toolerr.InvalidArgument, "from", []string{"length"}},
		{UnitsRequest{1, strings.Repeat("m", 100000), "m"}, toolerr.InvalidArgument, "from", []string{"length"}},
		{UnitsRequest{math.NaN(), "m", "m"}, toolerr.InvalidArgument, "value", nil},
		{UnitsRequest{math.Inf(1), "m", "m"}, toolerr.InvalidArgument, "value", nil},
		{UnitsRequest{1e308, "km", "nm"}, toolerr.OutOfRange, "value", nil},
		{UnitsRequest{5e-324, "nm", "km"}, toolerr.OutOfRange, "value", nil},
		{UnitsRequest{-274, "celsius", "kelvin"}, toolerr.OutOfRange, "value", []string{"absolute zero"}},
		{UnitsRequest{-0.1, "kelvin", "kelvin"}, toolerr.OutOfRange, "value", nil},
	} {
		_, err := ConvertUnits(c.req)
		wantError(t, err, c.code, c.param)
		for _, word := range c.saying {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%.20q → %.20q: message should say %s: %s", c.req.From, c.req.To, word, err)
			}
		}
		if len(err.Error()) > 700 {
			t.Errorf("%.20q: message of %d bytes", c.req.From, len(err.Error()))
		}
	}
}

// TestConversionIsTheNearestFloat holds the result against exact arithmetic: no
// other float64 is nearer to value × factor ÷ factor.
func TestConversionIsTheNearestFloat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom(units).Draw(t, "from")
		v := rapid.SampledFrom(units).Filter(func(v unit) bool { return v.dimension == u.dimension }).Draw(t, "to")
		value := rapid.Float64Range(0, 1e12).Draw(t, "value")
		got, err := ConvertUnits(UnitsRequest{value, u.id, v.id})
		if value < 1e-200 {
			return // may be refused for being too small
		}
		if err != nil {
			t.Fatal(err)
		}
		// got × v.factor lies between the neighbours' products around (value+offset) × u.factor.
		exact := new(big.Rat).Mul(new(big.Rat).Add(decimal(value), u.offset), u.factor)
		at := func(f float64) *big.Rat {
			r := new(big.Rat).SetFloat64(f)
			r.Add(r, v.offset).Mul(r, v.factor).Sub(r, exact)
			return r.Abs(r)
		}
		here := at(got.Result)
		for _, toward := range []float64{math.Inf(-1), math.Inf(1)} {
			if at(math.Nextafter(got.Result, toward)).Cmp(here) < 0 {
				t.Fatalf("%v %s is not %v %s: a neighbour is nearer", value, u.id, got.Result, v.id)
			}
		}
	})
}

func TestConversionThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom(units).Draw(t, "from")
		v := rapid.SampledFrom(units).Filter(func(v unit) bool { return v.dimension == u.dimension }).Draw(t, "to")
		value := float64(rapid.IntRange(1, 1_000_000).Draw(t, "value"))
		there, err := ConvertUnits(UnitsRequest{value, u.id, v.id})
		if err != nil {
			t.Fatal(err)
		}
		back, err := ConvertUnits(UnitsRequest{there.Result, v.id, u.id})
		if err != nil || math.Abs(back.Result-value) > 1e-9*(value+1) {
			t.Fatalf("%v %s → %v %s → %v, %v", value, u.id, there.Result, v.id, back.Result, err)
		}
	})
}

func BenchmarkUnits(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConvertUnits(UnitsRequest{30, "tsubo", "m2"}); err != nil {
			b.Fatal(err)
		}
	}
}
