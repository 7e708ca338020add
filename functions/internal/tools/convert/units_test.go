package convert

import (
	"encoding/json"
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
		got, err := ConvertUnits(UnitsRequest{Value: c.value, From: c.from, To: c.to})
		if err != nil || got.Result != c.want || got.Value != c.value || got.From != c.from || got.To != c.to {
			t.Errorf("%v %s in %s: got %+v, %v; want %v", c.value, c.from, c.to, got, err, c.want)
		}
	}
}

func TestUnitsAreFoundByUsualNames(t *testing.T) {
	for name, id := range map[string]string{
		"坪": "tsubo", "㎡": "m2", "m²": "m2", "ｋｇ": "kg", "KG": "kg", " Meter ": "m", "℃": "celsius", "°F": "fahrenheit", "K": "kelvin",
		"μm": "um", "µm": "um", "升": "sho", "MB": "mb", "mL": "ml", "ML": "megaliter", "ｍｇ": "mg", "Mg": "megagram", "Mm": "megameter", "NM": "nmi", "B": "byte", "b": "bit",
		"Mt": "megatonne", "fl. oz.": "floz", "gal (US)": "gal", "Imperial Gallon": "impgal", "short ton": "shortton", "京間": "kyoma", "キロメートル": "km", "㌔": "kg", "㍍": "m", "kB": "kb", "GiB": "gib", "Nautical Mile": "nmi", "㎞": "km",
		"metres": "m", "miles": "mi", "inches": "in", "Pounds": "lb", "bits": "bit", "tons": "t", "feet": "ft",
	} {
		if found := unitsNamed(name); len(found) != 1 || found[0].id != id {
			t.Errorf("%s: got %v, want %q", name, found, id)
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
		for _, name := range u.names {
			key := u.dimension + " " + name
			if other, doubled := seen[key]; doubled && len(unitsNamed(name)) < 2 {
				t.Errorf("%q is %s and %s", name, other, u.id)
			}
			if writtenUnit(name) != name {
				t.Errorf("%q can't be found: it is read as %q", name, writtenUnit(name))
			}
			seen[key] = u.id
		}
	}
	for id := range kinds {
		if found := unitsNamed(id); len(found) == 0 || found[0].id != id && found[len(found)-1].id != id {
			t.Errorf("kinds has %s, which is not a unit", id)
		}
	}
}

// TestCaseDecidesWhereItMustOnly: for every two names of units that differ in case only, each
// means its own unit as it is written, and a third way is refused with both.
func TestCaseDecidesWhereItMustOnly(t *testing.T) {
	pairs := 0
	for _, u := range units {
		for _, v := range units {
			for _, a := range u.names {
				for _, b := range v.names {
					if u.id == v.id || u.dimension != v.dimension || a == b || !strings.EqualFold(a, b) {
						continue
					}
					pairs++
					_, got, err := unitPair(u.id, a)
					if a != "mt" && a != "MT" && (err != nil || got.id != u.id) {
						t.Errorf("%s: got %s, %v; want %s", a, got.id, err, u.id)
					}
				}
			}
		}
	}
	if pairs == 0 {
		t.Error("no pair found")
	}
	for name, ids := range map[string]string{"MG": "mg, megagram", "MM": "mm, megameter", "Nm": "nm, nmi", "mt": "t, megatonne", "MT": "t, megatonne"} {
		_, err := ConvertUnits(UnitsRequest{Value: 1, From: name, To: name})
		wantError(t, err, toolerr.InvalidArgument, "from")
		if !strings.Contains(err.Error(), "Give one of "+ids) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDigitsAreKept: what a number has no room for is in the note, and the conversion is exact.
func TestDigitsAreKept(t *testing.T) {
	for sent, want := range map[string]string{
		`{"value":9007199254740993,"from":"m","to":"m"}`:        "read as 9007199254740993, and the exact result is 9007199254740993;",
		`{"value":9007199254740993,"from":"km","to":"mm"}`:      "the exact result is 9007199254740993000000;",
		`{"value":0.12345678901234567891,"from":"kg","to":"g"}`: "the exact result is 123.45678901234567891;",
		`{"value":9007199254740993,"from":"m","to":"ft"}`:       "the exact result is about 2.955",
		`{"value":1e-999999999,"from":"m","to":"m"}`:            "",
		`{"value":0.1,"from":"m","to":"ft"}`:                    "",
	} {
		var r UnitsRequest
		if err := json.Unmarshal([]byte(sent), &r); err != nil {
			t.Fatal(err)
		}
		got, err := ConvertUnits(r)
		if err != nil || (got.Note == nil) != (want == "") || got.Note != nil && !strings.Contains(*got.Note, want) {
			t.Errorf("%s: %+v, %v; want a note with %q", sent, got, err, want)
			if got.Note != nil {
				t.Log(*got.Note)
			}
		}
	}
	for _, bad := range []string{`{"value":1e999}`, `{"value":"x"}`, `{"value":{}}`} {
		if err := json.Unmarshal([]byte(bad), new(UnitsRequest)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestUnitsSayWhatWasUnderstood(t *testing.T) {
	for _, c := range []struct {
		value        float64
		from, to     string
		want         float64
		fromID, note string
	}{
		{1, "Mg", "kg", 1000, "megagram", "Mg is 1000 kg; the milligram is mg."},
		{1000, "mg", "g", 1, "mg", ""},
		{1, "gallon", "l", 3.785411784, "gal", "US gallon"},
		{1, "imperial gallon", "l", 4.54609, "impgal", ""},
		{1, "US gallon", "l", 3.785411784, "gal", ""},
		{2, "pints", "floz", 32, "pt", "US liquid pint"},
		{1, "ton", "kg", 1000, "t", "metric ton"},
		{1, "tonne", "kg", 1000, "t", ""},
		{6, "畳", "m2", 1200.0 / 121, "jo", "kyoma 1.82"},
		{6, "京間", "m2", 10.9443, "kyoma", ""},
		{8, "oz", "ml", 236.588236500, "floz", "US fluid ounce"},
		{8, "oz", "g", 226.796185, "oz", "avoirdupois"},
		{2, "kt", "t", 2000, "kilotonne", "1000 metric tons"},
		{2, "kt", "km/h", 3.704, "kn", "knot"},
		{1, "町", "m2", 1200000.0 / 121, "chobu", "an area"},
		{1, "町", "m", 1200.0 / 11, "cho", "a length"},
		{1, "MB", "kb", 1000, "mb", "2^20 are mib"},
		{9007199254740993, "m", "km", 9007199254740.992, "m", "read as 9007199254740992"},
		{9007199254740991, "m", "km", 9007199254740.991, "m", ""},
		{-1e300, "m", "km", -1e297, "m", "read as -1e+300"},
	} {
		got, err := ConvertUnits(UnitsRequest{Value: c.value, From: c.from, To: c.to})
		if err != nil || got.Result != c.want || got.From != c.fromID {
			t.Errorf("%v %s in %s: got %+v, %v; want %v %s", c.value, c.from, c.to, got, err, c.want, c.fromID)
			continue
		}
		note := ""
		if got.Note != nil {
			note = *got.Note
		}
		if (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("%v %s in %s: note %q, want %q", c.value, c.from, c.to, note, c.note)
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
		{UnitsRequest{Value: 1, From: "m", To: "kg"}, toolerr.InvalidArgument, "to", []string{"length", "mass", "shaku"}},
		{UnitsRequest{Value: 1, From: "tsubo", To: "m"}, toolerr.InvalidArgument, "to", []string{"area", "m2", "ha"}},
		{UnitsRequest{Value: 1, From: "tsubi", To: "furlongs"}, toolerr.InvalidArgument, "from", []string{"area", "tsubo"}},
		{UnitsRequest{Value: 1, From: "parsec", To: "km"}, toolerr.InvalidArgument, "from", []string{"length", "ri"}},
		{UnitsRequest{Value: 1, From: "kg", To: "stone"}, toolerr.InvalidArgument, "to", []string{"mass", "momme"}},
		{UnitsRequest{Value: 1, From: "", To: ""}, toolerr.InvalidArgument, "from", []string{"length"}},
		{UnitsRequest{Value: 1, From: "celcius", To: "F"}, toolerr.InvalidArgument, "from", []string{"celsius"}},
		{UnitsRequest{Value: 1, From: "Mb", To: "kb"}, toolerr.InvalidArgument, "from", []string{"mbit", "mb"}},
		{UnitsRequest{Value: 1, From: "\xff", To: "m"}, toolerr.InvalidArgument, "from", []string{"length"}},
		{UnitsRequest{Value: 1, From: strings.Repeat("m", 100000), To: "m"}, toolerr.InvalidArgument, "from", []string{"length"}},
		{UnitsRequest{Value: math.NaN(), From: "m", To: "m"}, toolerr.InvalidArgument, "value", nil},
		{UnitsRequest{Value: math.Inf(1), From: "m", To: "m"}, toolerr.InvalidArgument, "value", nil},
		{UnitsRequest{Value: 1e308, From: "km", To: "nm"}, toolerr.OutOfRange, "value", []string{"too large a number", "larger than nm"}},
		{UnitsRequest{Value: 5e-324, From: "nm", To: "km"}, toolerr.OutOfRange, "value", []string{"too small a number", "smaller than km"}},
		{UnitsRequest{Value: -274, From: "celsius", To: "kelvin"}, toolerr.OutOfRange, "value", []string{"absolute zero"}},
		{UnitsRequest{Value: -0.1, From: "kelvin", To: "kelvin"}, toolerr.OutOfRange, "value", nil},
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
		got, err := ConvertUnits(UnitsRequest{Value: value, From: u.id, To: v.id})
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
		there, err := ConvertUnits(UnitsRequest{Value: value, From: u.id, To: v.id})
		if err != nil {
			t.Fatal(err)
		}
		back, err := ConvertUnits(UnitsRequest{Value: there.Result, From: v.id, To: u.id})
		if err != nil || math.Abs(back.Result-value) > 1e-9*(value+1) {
			t.Fatalf("%v %s → %v %s → %v, %v", value, u.id, there.Result, v.id, back.Result, err)
		}
	})
}

func BenchmarkUnits(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConvertUnits(UnitsRequest{Value: 30, From: "tsubo", To: "m2"}); err != nil {
			b.Fatal(err)
		}
	}
}
