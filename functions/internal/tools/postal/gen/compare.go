package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// addresses is code → the joined addresses of it, sorted, each once.
type addresses map[string][]string

func byCode(rows []row, spell func(string) string) addresses {
	all := addresses{}
	for _, r := range rows {
		all[r.code] = append(all[r.code], spell(r.prefecture+r.city+r.town))
	}
	for code, list := range all {
		slices.Sort(list)
		all[code] = slices.Compact(list)
	}
	return all
}

func (a addresses) count() (n int) {
	for _, list := range a {
		n += len(list)
	}
	return n
}

// missing lists the codes of a that b does not have.
func (a addresses) missing(b addresses) (codes []string) {
	for code := range a {
		if b[code] == nil {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes
}

// report says what two sources have and where they differ. class names the reason
// of a difference in the addresses of a code that both have.
func report(w io.Writer, nameA, nameB string, a, b addresses, class func(a, b []string) string) {
	fmt.Fprintf(w, "%s: %d codes, %d addresses\n%s: %d codes, %d addresses\n",
		nameA, len(a), a.count(), nameB, len(b), b.count())
	onlyA, onlyB := a.missing(b), b.missing(a)
	fmt.Fprintf(w, "only in %s: %d %s\nonly in %s: %d %s\n", nameA, len(onlyA), few(onlyA), nameB, len(onlyB), few(onlyB))
	same, groups := 0, map[string][]string{}
	for code, list := range a {
		if b[code] == nil {
			continue
		}
		if slices.Equal(list, b[code]) {
			same++
			continue
		}
		kind := class(list, b[code])
		groups[kind] = append(groups[kind], code)
	}
	fmt.Fprintf(w, "same addresses: %d\n", same)
	kinds := make([]string, 0, len(groups))
	for kind := range groups {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		codes := groups[kind]
		slices.Sort(codes)
		fmt.Fprintf(w, "differ, %s: %d %s\n", kind, len(codes), few(codes))
		for _, code := range codes[:min(3, len(codes))] {
			fmt.Fprintf(w, "    %s %v | %v\n", code, few(a[code]), few(b[code]))
		}
	}
}

func few(list []string) string {
	if len(list) > 5 {
		return fmt.Sprintf("(%s, …)", strings.Join(list[:5], ", "))
	}
	return fmt.Sprintf("(%s)", strings.Join(list, ", "))
}

var (
	remark = regexp.MustCompile(`（[^）]*）?`)
	floor  = regexp.MustCompile(`（([０-９]+階)）`)
)

// withoutRemarks takes Japan Post's remarks off an address: （１階） becomes １階,
// every other parenthesis goes, and so does 一円 after a repeated village.
func withoutRemarks(address string) string {
	address = floor.ReplaceAllString(address, "$1")
	address = remark.ReplaceAllString(address, "")
	whole, found := strings.CutSuffix(address, "一円")
	if !found {
		return address
	}
	letters := []rune(whole)
	for n := 2; 2*n <= len(letters); n++ {
		end := len(letters)
		if slices.Equal(letters[end-2*n:end-n], letters[end-n:]) {
			return string(letters[:end-n])
		}
	}
	return address
}

// asIs compares spellings as the sources have them.
func asIs(address string) string { return address }

// withinGroup names a difference between two lists of addresses of one code.
func withinGroup(a, b []string) string {
	switch {
	case renamed(a, b, hamamatsuBefore, hamamatsuAfter):
		return "wards of Hamamatsu, redrawn on 2024-01-01"
	case cutShort(a, b):
		return "town or land numbers (地割, 次に…) cut off by one of them"
	case len(a) != len(b):
		return "another number of towns"
	}
	return "another spelling or name"
}

// cutShort: each address of one list is the beginning of its partner in the other.
func cutShort(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !strings.HasPrefix(a[i], b[i]) && !strings.HasPrefix(b[i], a[i]) {
			return false
		}
	}
	return true
}

var (
	hamamatsuBefore = regexp.MustCompile(`^静岡県浜松市(中|東|西|南|北|浜北|天竜)区`)
	hamamatsuAfter  = regexp.MustCompile(`^静岡県浜松市(中央|浜名|天竜)区`)
)

// renamed: the lists are one another's but for the beginning of each address.
func renamed(a, b []string, before, after *regexp.Regexp) bool {
	strip := func(list []string) (out []string) {
		for _, address := range list {
			out = append(out, after.ReplaceAllString(before.ReplaceAllString(address, ""), ""))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(strip(a), strip(b))
}
