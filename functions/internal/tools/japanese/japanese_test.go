package japanese_test

import (
	"testing"

	"sekisho/functions/internal/tools/japanese"
)

func TestNumbersInKanji(t *testing.T) {
	for in, want := range map[string]string{
		"八": "8", "十": "10", "十一": "11", "三十": "30", "二十四": "24", "六十四": "64", "百二十": "120", "千二百三": "1203",
		"二〇二六": "2026", "一〇": "10", "零": "0", "〇八": "08", "廿三": "23", "卅一": "31", "二十四軒": "24軒", "八六1": "86-1", "1八六": "1-86",
		"千代田": "1000代田", "令和": "令和", "": "",
	} {
		if got := japanese.NumbersAsDigits(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestNumbersStayApart(t *testing.T) {
	for in, want := range map[string]string{"第3 2-8": "第3-2-8", "三 4": "三-4", "北 10 条": "北10条", "R8 11 30": "R8-11-30", " 1 ": "1"} {
		if got := japanese.NumbersApart(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestHyphens(t *testing.T) {
	for _, r := range "-‐‑‒–—―−ーｰ－﹣━─⁻₋ㅡ⸺〜" {
		if !japanese.IsHyphen(r) {
			t.Errorf("%c U+%04X is a hyphen", r, r)
		}
	}
	for _, r := range "一二1.・/ノ" {
		if japanese.IsHyphen(r) {
			t.Errorf("%c is no hyphen", r)
		}
	}
}
