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
	names          []string // all ways to write it, the id first, as by writtenUnit
}

// dimensionNames in the order in which errors list them.
var dimensionNames = []string{"length", "mass", "area", "volume", "temperature", "speed", "data"}

// Factors are exact. International units: SI brochure, 9th edition; inch and pound:
// the agreement of 1959; US gallon: 231 cubic inches; imperial gallon: 4.54609 l (Units of
// Measurement Regulations 1995); troy ounce: 480 grains. Traditional Japanese units: 度量衡法
// (明治24年法律第3号), 1尺 = 10/33 m, 1貫 = 15/4 kg, 1升 = 64,827 cubic bu = 2401/1331 L.
// 畳 (jo) is half a tsubo; the mats of a region are units of their own.
//
// Case counts where two units differ in nothing else (mg and Mg). A name can be in several
// dimensions (kt, 町): the other unit decides.
var units = []unit{
	length("mm", "1/1000", "millimeter", "millimetre", "ミリメートル", "ミリ"), length("cm", "1/100", "centimeter", "centimetre", "センチメートル", "センチ"),
	length("dm", "1/10", "decimeter"), length("m", "1", "meter", "metre", "メートル"),
	length("km", "1000", "kilometer", "kilometre", "キロメートル"), length("megameter", "1000000", "Mm"),
	length("um", "1/1000000", "μm", "micrometer", "micron"), length("nm", "1/1000000000", "nanometer"),
	length("in", "0.0254", "inch", "inches", "インチ"), length("ft", "0.3048", "foot", "feet", "フィート"), length("yd", "0.9144", "yard", "ヤード"),
	length("mi", "1609.344", "mile", "マイル"), length("nmi", "1852", "nauticalmile", "NM", "海里"),
	length("sun", "1/33", "寸"), length("shaku", "10/33", "尺"), length("kujirajaku", "25/66", "鯨尺"), length("ken", "20/11", "間"),
	length("cho", "1200/11", "町", "丁"), length("ri", "43200/11", "里"),

	mass("ug", "1/1000000000", "μg", "microgram", "mcg"), mass("mg", "1/1000000", "milligram", "ミリグラム"), mass("g", "1/1000", "gram", "グラム"),
	mass("kg", "1", "kilogram", "キログラム", "キロ"), mass("t", "1000", "ton", "tonne", "metricton", "トン", "mt", "MT"),
	mass("megagram", "1000", "Mg"), mass("kilotonne", "1000000", "kt"), mass("megatonne", "1000000000", "Mt", "mt", "MT"),
	mass("shortton", "907.18474", "uston"), mass("longton", "1016.0469088", "ukton", "imperialton"),
	mass("oz", "0.028349523125", "ounce", "オンス"), mass("ozt", "0.0311034768", "troyounce", "troyoz"), mass("lb", "0.45359237", "lbs", "pound", "ポンド"),
	mass("momme", "0.00375", "匁"), mass("kin", "0.6", "斤"), mass("kan", "3.75", "貫"),

	area("mm2", "1/1000000"), area("cm2", "1/10000"), area("m2", "1", "sqm", "squaremeter", "squaremetre", "平米", "平方メートル"), area("km2", "1000000", "平方キロメートル"),
	area("a", "100", "are", "アール"), area("ha", "10000", "hectare", "ヘクタール"),
	area("ft2", "0.09290304", "sqft", "squarefoot", "squarefeet"), area("acre", "4046.8564224", "エーカー"), area("mi2", "2589988.110336", "sqmi", "squaremile"),
	area("tsubo", "400/121", "坪", "bu", "歩"), area("jo", "200/121", "畳", "帖"),
	area("kyoma", "1.82405", "京間", "本間"), area("chukyoma", "1.6562", "中京間"), area("edoma", "1.5488", "江戸間", "関東間"), area("danchima", "1.445", "団地間"),
	area("se", "12000/121", "畝"), area("tan", "120000/121", "反"), area("chobu", "1200000/121", "町歩", "町"),

	volume("ml", "1/1000", "mL", "cc", "cm3", "milliliter", "millilitre", "ミリリットル"), volume("cl", "1/100", "centiliter"), volume("dl", "1/10", "deciliter", "デシリットル"),
	volume("l", "1", "liter", "litre", "リットル"), volume("kl", "1000", "kiloliter", "キロリットル"), volume("megaliter", "1000000", "ML", "Ml"),
	volume("m3", "1000", "cubicmeter", "立方メートル", "立米"), volume("in3", "0.016387064"), volume("ft3", "28.316846592"),
	volume("gal", "3.785411784", "gallon", "usgal", "usgallon", "galus", "ガロン"), volume("qt", "0.946352946", "quart", "usqt", "usquart"),
	volume("pt", "0.473176473", "pint", "uspt", "uspint", "パイント"), volume("floz", "0.0295735295625", "fluidounce", "usfloz", "oz", "ounce"),
	volume("impgal", "4.54609", "imperialgallon", "ukgal", "ukgallon", "galuk", "galimp", "英ガロン"), volume("impqt", "1.1365225", "imperialquart", "ukquart"),
	volume("imppt", "0.56826125", "imperialpint", "ukpint"), volume("impfloz", "0.0284130625", "imperialfluidounce", "ukfloz"),
	volume("go", "2401/13310", "合"), volume("sho", "2401/1331", "升"), volume("to", "24010/1331", "斗"), volume("koku", "240100/1331", "石"),

	temperature("kelvin", "1", "0", "K"), temperature("celsius", "1", "273.15", "C", "°C", "摂氏"),
	temperature("fahrenheit", "5/9", "459.67", "F", "°F", "華氏"), temperature("rankine", "5/9", "0"),

	speed("m/s", "1", "mps"), speed("km/h", "5/18", "kmh", "kph"), speed("mph", "0.44704"), speed("kn", "463/900", "knot", "kt", "ノット"), speed("ft/s", "0.3048"),

	data("bit", "1", "b", "ビット"), data("byte", "8", "B", "バイト"),
	data("kbit", "1000"), data("mbit", "1000000"), data("gbit", "1000000000"), data("tbit", "1000000000000"),
	data("kb", "8000", "kilobyte"), data("mb", "8000000", "megabyte"), data("gb", "8000000000", "gigabyte"), data("tb", "8000000000000", "terabyte"), data("pb", "8000000000000000", "petabyte"),
	data("kib", "8192", "kibibyte"), data("mib", "8388608", "mebibyte"), data("gib", "8589934592", "gibibyte"), data("tib", "8796093022208", "tebibyte"), data("pib", "9007199254740992", "pebibyte"),
}

// kind says which unit is taken where a name can mean several.
type kind struct {
	names, is string // the vague names, folded; and what they are taken for
}

// kinds by unit id.
var kinds = map[string]kind{
	"gal":       {"gal gallon ガロン", "the US gallon, 231 cubic inches; the imperial one is impgal"},
	"qt":        {"qt quart", "the US liquid quart; the imperial one is impqt"},
	"pt":        {"pt pint パイント", "the US liquid pint, 473 ml; the imperial one, 568 ml, is imppt"},
	"floz":      {"floz fluidounce oz ounce", "the US fluid ounce; the imperial one is impfloz, the ounce of mass oz"},
	"oz":        {"oz ounce オンス", "the avoirdupois ounce, 28.35 g; the troy ounce is ozt"},
	"t":         {"ton", "the metric ton, 1000 kg; the US ton is shortton, the British one longton"},
	"kilotonne": {"kt", "1000 metric tons; knots are kn"},
	"kn":        {"kt", "the knot; 1000 metric tons are kilotonne"},
	"megagram":  {"mg", "1000 kg; the milligram is mg"},
	"megameter": {"mm", "1000 km; the millimeter is mm"},
	"megaliter": {"ml", "1000 m3; the milliliter is ml"},
	"nmi":       {"nm", "the nautical mile; the nanometer is nm"},
	"jo":        {"jo 畳 帖", "half a tsubo, 1.65 m2; mats differ: kyoma 1.82, chukyoma 1.66, edoma 1.55, danchima 1.45 m2"},
	"shaku":     {"shaku 尺", "the builder's shaku (曲尺), 10/33 m; that for cloth is kujirajaku"},
	"kin":       {"kin 斤", "600 g; a 斤 of bread is a loaf of 340 g or more"},
	"cho":       {"cho 町 丁", "a length, 109 m; the area is chobu"},
	"chobu":     {"町", "an area (町歩); the length is cho"},
	"kb":        {"kb kilobyte", "1000 bytes; 1024 are kib"},
	"mb":        {"mb megabyte", "10^6 bytes; 2^20 are mib"},
	"gb":        {"gb gigabyte", "10^9 bytes; 2^30 are gib"},
	"tb":        {"tb terabyte", "10^12 bytes; 2^40 are tib"},
	"pb":        {"pb petabyte", "10^15 bytes; 2^50 are pib"},
}

func length(id, factor string, names ...string) unit { return linear("length", id, factor, names) }
func mass(id, factor string, names ...string) unit   { return linear("mass", id, factor, names) }
func area(id, factor string, names ...string) unit   { return linear("area", id, factor, names) }
func volume(id, factor string, names ...string) unit { return linear("volume", id, factor, names) }
func speed(id, factor string, names ...string) unit  { return linear("speed", id, factor, names) }
func data(id, factor string, names ...string) unit   { return linear("data", id, factor, names) }

func temperature(id, factor, offset string, names ...string) unit {
	u := linear("temperature", id, factor, names)
	u.offset = rational(offset)
	return u
}

func linear(dimension, id, factor string, names []string) unit {
	u := unit{id: id, dimension: dimension, factor: rational(factor), offset: new(big.Rat), names: []string{id}}
	for _, name := range names {
		u.names = append(u.names, writtenUnit(name))
	}
	return u
}

// rational reads a constant of the table above.
func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("convert: " + text + " is not a number")
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
