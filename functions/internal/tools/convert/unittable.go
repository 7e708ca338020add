package convert

import (
	"math/big"
	"strings"
)

// unit is one unit: value in the base unit of its dimension = (value + offset) ×
// factor. Only temperatures have an offset.
type unit struct {
	id             string
	dimension      string
	factor, offset *big.Rat
	aliases        []string // other ways to write it, folded as by foldUnit
}

// dimensionNames in the order in which they are told.
var dimensionNames = []string{"length", "mass", "area", "volume", "temperature", "speed", "data"}

// Factors are exact. International units: SI brochure, 9th edition; inch and pound:
// the agreement of 1959; US gallon: 231 cubic inches. Traditional Japanese units: 度量衡法
// (明治24年法律第3号), 1尺 = 10/33 m, 1貫 = 15/4 kg, 1升 = 64,827 cubic bu = 2401/1331 L.
// 畳 (jo) is half a tsubo here; mats differ by region.
var units = []unit{
	length("mm", "1/1000", "millimeter"), length("cm", "1/100", "centimeter"), length("m", "1", "meter", "metre"),
	length("km", "1000", "kilometer", "kilometre"), length("um", "1/1000000", "μm", "micrometer"), length("nm", "1/1000000000", "nanometer"),
	length("in", "0.0254", "inch", "inches"), length("ft", "0.3048", "foot", "feet"), length("yd", "0.9144", "yard"),
	length("mi", "1609.344", "mile"), length("nmi", "1852", "nauticalmile"),
	length("sun", "1/33", "寸"), length("shaku", "10/33", "尺"), length("ken", "20/11", "間"),
	length("cho", "1200/11", "町", "丁"), length("ri", "43200/11", "里"),

	mass("mg", "1/1000000", "milligram"), mass("g", "1/1000", "gram"), mass("kg", "1", "kilogram"), mass("t", "1000", "ton", "tonne"),
	mass("oz", "0.028349523125", "ounce"), mass("lb", "0.45359237", "pound"),
	mass("momme", "0.00375", "匁"), mass("kin", "0.6", "斤"), mass("kan", "3.75", "貫"),

	area("mm2", "1/1000000"), area("cm2", "1/10000"), area("m2", "1", "sqm"), area("km2", "1000000"),
	area("a", "100", "are"), area("ha", "10000", "hectare"),
	area("ft2", "0.09290304", "sqft"), area("acre", "4046.8564224"), area("mi2", "2589988.110336", "sqmi"),
	area("tsubo", "400/121", "坪", "bu", "歩"), area("jo", "200/121", "畳", "帖"),
	area("se", "12000/121", "畝"), area("tan", "120000/121", "反"), area("chobu", "1200000/121", "町歩"),

	volume("ml", "1/1000", "cc", "cm3", "milliliter"), volume("l", "1", "liter", "litre", "リットル"), volume("kl", "1000", "kiloliter"),
	volume("m3", "1000"), volume("in3", "0.016387064"), volume("ft3", "28.316846592"),
	volume("gal", "3.785411784", "gallon"), volume("qt", "0.946352946", "quart"), volume("pt", "0.473176473", "pint"), volume("floz", "0.0295735295625"),
	volume("go", "2401/13310", "合"), volume("sho", "2401/1331", "升"), volume("to", "24010/1331", "斗"), volume("koku", "240100/1331", "石"),

	temperature("kelvin", "1", "0", "k"), temperature("celsius", "1", "273.15", "c", "℃"),
	temperature("fahrenheit", "5/9", "459.67", "f", "℉"), temperature("rankine", "5/9", "0"),

	speed("m/s", "1", "mps"), speed("km/h", "5/18", "kmh", "kph"), speed("mph", "0.44704"), speed("kn", "463/900", "knot", "kt"), speed("ft/s", "0.3048"),

	data("bit", "1"), data("byte", "8"),
	data("kbit", "1000"), data("mbit", "1000000"), data("gbit", "1000000000"), data("tbit", "1000000000000"),
	data("kb", "8000"), data("mb", "8000000"), data("gb", "8000000000"), data("tb", "8000000000000"), data("pb", "8000000000000000"),
	data("kib", "8192"), data("mib", "8388608"), data("gib", "8589934592"), data("tib", "8796093022208"), data("pib", "9007199254740992"),
}

func length(id, factor string, aliases ...string) unit {
	return linear("length", id, factor, aliases)
}
func mass(id, factor string, aliases ...string) unit { return linear("mass", id, factor, aliases) }
func area(id, factor string, aliases ...string) unit { return linear("area", id, factor, aliases) }
func volume(id, factor string, aliases ...string) unit {
	return linear("volume", id, factor, aliases)
}
func speed(id, factor string, aliases ...string) unit { return linear("speed", id, factor, aliases) }
func data(id, factor string, aliases ...string) unit  { return linear("data", id, factor, aliases) }

func temperature(id, factor, offset string, aliases ...string) unit {
	u := linear("temperature", id, factor, aliases)
	u.offset = rational(offset)
	return u
}

func linear(dimension, id, factor string, aliases []string) unit {
	u := unit{id: id, dimension: dimension, factor: rational(factor), offset: new(big.Rat)}
	for _, a := range aliases {
		u.aliases = append(u.aliases, foldUnit(a))
	}
	return u
}

// rational reads a constant of the table above.
func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("convert: " + text + " is no number")
	}
	return r
}

// idsOf lists the units of a dimension.
func idsOf(dimension string) string {
	var ids []string
	for _, u := range units {
		if u.dimension == dimension {
			ids = append(ids, u.id)
		}
	}
	return strings.Join(ids, ", ")
}
