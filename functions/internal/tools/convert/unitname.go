package convert

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"sekisho/functions/internal/spelling"
	"sekisho/functions/internal/tools/toolerr"
)

// maxUnitBytes is more than any name of a unit has.
const maxUnitBytes = 64

// writtenUnit is the name of a unit without what never matters: widths, spaces, hyphens, the
// dots of an abbreviation. m² is m2.
func writtenUnit(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -_.()", r) {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(norm.NFKC.String(name)), ""))
}

// unitsNamed finds the units that a name can mean: those that are written like it; else
// those that differ in case only, or by the s of the English plural.
func unitsNamed(name string) []unit {
	if len(name) > maxUnitBytes || isBitOrByte(name) {
		return nil
	}
	written := writtenUnit(name)
	exactly := func(known string) bool { return known == written }
	inAnyCase := func(known string) bool { return strings.EqualFold(known, written) }
	singular := strings.TrimSuffix(strings.ToLower(written), "s")
	inPlural := func(known string) bool { return len(written) >= len("tons") && known == singular }
	for _, same := range []func(string) bool{exactly, inAnyCase, inPlural} {
		var found []unit
		for _, u := range units {
			if slices.ContainsFunc(u.names, same) {
				found = append(found, u)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// isBitOrByte: Mb, Gb and the like mean bits to some and bytes to others.
func isBitOrByte(name string) bool {
	return len(name) == 2 && strings.Contains("KMGTP", name[:1]) && name[1] == 'b'
}

// unitPair finds both units; they must measure the same. A name in several dimensions is
// taken in that of the other unit.
func unitPair(from, to string) (u, v unit, err error) {
	us, vs := unitsNamed(from), unitsNamed(to)
	switch {
	case len(us) == 0:
		return u, v, unknownUnit("from", from, dimensionOf(vs))
	case len(vs) == 0:
		return u, v, unknownUnit("to", to, dimensionOf(us))
	}
	inBoth := func(list, others []unit) []unit {
		return slices.DeleteFunc(slices.Clone(list), func(u unit) bool {
			return !slices.ContainsFunc(others, func(v unit) bool { return u.dimension == v.dimension })
		})
	}
	fit, other := inBoth(us, vs), inBoth(vs, us)
	if len(fit) == 0 {
		u, v = us[0], vs[0]
		return u, v, toolerr.Invalid("to", "%s is a unit of %s and %s one of %s, which do not convert into one another. For %s give one of: %s.",
			u.id, u.dimension, v.id, v.dimension, u.id, idsOf(u.dimension))
	}
	if err := oneMeaning("from", from, fit); err != nil {
		return u, v, err
	}
	return fit[0], other[0], oneMeaning("to", to, other)
}

// oneMeaning refuses a name that can mean several units of one dimension.
func oneMeaning(param, name string, found []unit) error {
	if found[0].dimension != found[len(found)-1].dimension || len(found) == 1 {
		return nil
	}
	var ids []string
	for _, u := range found {
		ids = append(ids, u.id)
	}
	return toolerr.Invalid(param, "%s can mean several units; case counts. Give one of %s, as the user means it.", toolerr.Quote(name), strings.Join(ids, ", "))
}

func dimensionOf(found []unit) string {
	if len(found) == 0 {
		return ""
	}
	return found[0].dimension
}

// unknownUnit lists the units of the dimension that was most likely meant: that of
// the other unit where it is known, else that of the most similar name.
func unknownUnit(param, name, dimension string) error {
	if isBitOrByte(name) {
		prefix := strings.ToLower(name[:1])
		return toolerr.Invalid(param, "%s can mean bits or bytes. Give %sbit or %sb (bytes).", name, prefix, prefix)
	}
	if dimension == "" {
		dimension = closest(name)
	}
	others := slices.DeleteFunc(slices.Clone(dimensionNames), func(d string) bool { return d == dimension })
	return toolerr.Invalid(param, "%s is not a unit of this tool. Units of %s: %s. Other dimensions: %s. If none fits, the tool can't convert it: tell the user.",
		toolerr.Quote(name), dimension, idsOf(dimension), strings.Join(others, ", "))
}

// closest gives the dimension of the unit whose name is most like this one.
func closest(name string) string {
	if len(name) > maxUnitBytes {
		name = name[:maxUnitBytes]
	}
	written := strings.ToLower(writtenUnit(name))
	best, dimension := math.MaxFloat64, dimensionNames[0]
	for _, u := range units {
		for _, known := range u.names {
			longest := max(utf8.RuneCountInString(known), utf8.RuneCountInString(written), 1)
			if d := float64(spelling.Edits(strings.ToLower(known), written)) / float64(longest); d < best {
				best, dimension = d, u.dimension
			}
		}
	}
	return dimension
}
