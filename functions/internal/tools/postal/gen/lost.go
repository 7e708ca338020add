package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// restoreTowns gives the rows that lost their town the one that another source has for the
// code, and takes the town off those that have a remark in its place (house numbers straight
// after the city); it reports both. A code of several towns gets a row for each.
func restoreTowns(w io.Writer, rows, other []row) []row {
	byCode := map[string][]row{}
	for _, r := range other {
		byCode[r.code] = append(byCode[r.code], r)
	}
	var out []row
	codes := 0
	for _, r := range rows {
		if strings.Contains(r.town, "の次に") && strings.HasSuffix(r.town, "番地以降がくる場合") {
			fmt.Fprintf(w, "%s %s%s: a remark, not a town: %s\n", r.code, r.prefecture, r.city, r.town)
			r.town, r.townKana = "", ""
		}
		towns := lostTowns(r, byCode[r.code])
		if len(towns) == 0 {
			out = append(out, r)
			continue
		}
		codes++
		fmt.Fprintf(w, "%s %s%s: town restored: %s\n", r.code, r.prefecture, r.city, strings.Join(towns, ", "))
		for _, town := range towns {
			mended := r
			mended.town, mended.townKana = town, readings[r.city+town]
			out = append(out, mended)
		}
	}
	fmt.Fprintf(w, "towns restored at %d codes\n", codes)
	return out
}

// readings of restored towns, which no source at hand has with them: 種市 as its only other
// town of the table and its station, 甲 and 乙 as the table has them elsewhere, 大島町 as in
// the names of the other towns of 西海市 that begin with it. 井道 of 新城市 is left open.
var readings = map[string]string{
	"九戸郡洋野町種市": "タネイチ",
	"小豆郡土庄町甲":  "コウ",
	"小豆郡土庄町乙":  "オツ",
	"西海市大島町":   "オオシマチョウ",
}

// lostTowns lists the towns that others have for a row without one.
func lostTowns(r row, others []row) (towns []string) {
	if r.town != "" {
		return nil
	}
	for _, o := range others {
		rest, same := strings.CutPrefix(o.city, r.city)
		if same && o.prefecture == r.prefecture {
			towns = append(towns, townsIn(rest, r.city)...)
		}
	}
	slices.Sort(towns)
	return slices.Compact(towns)
}

var landNumbers = regexp.MustCompile(`第?[０-９]+地割.*`)

// townsIn reads the towns out of what Japan Post writes behind a city: without remarks in
// parentheses and land numbers, apart where several share a code. There are none where it
// writes no town but the city once more: 一円 is the whole of a village, の次に番地がくる場合 a
// house number straight after the city.
func townsIn(text, city string) []string {
	text, _, _ = strings.Cut(text, "（")
	text, _, _ = strings.Cut(text, "の次に")
	text = landNumbers.ReplaceAllString(strings.TrimSuffix(text, "一円"), "")
	if text == "" || strings.HasSuffix(city, text) {
		return nil
	}
	return strings.Split(text, "、")
}
