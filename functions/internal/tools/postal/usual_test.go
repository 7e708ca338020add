package postal

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// usual lists the ways in which people write the address of a place, by kind. It knows
// nothing of the code under test: the numbers and pairs of kanji are lists of its own.
func usual(p Place) map[string][]string {
	whole := p.Prefecture + p.City + p.Town
	all := map[string][]string{"as written": {whole}}
	add := func(kind, address string) {
		if address != whole && !halfDigits.MatchString(address) {
			all[kind] = append(all[kind], address)
		}
	}
	add("city and town", p.City+p.Town)
	add("spaces", p.Prefecture+" "+p.City+"　"+p.Town)
	add("postal code first", "〒"+p.PostalCode[:3]+"-"+p.PostalCode[3:]+" "+whole)
	if _, town, ok := strings.Cut(p.City, "郡"); ok && strings.ContainsAny(p.City, "町村") && town != "" {
		add("without 郡", p.Prefecture+town+p.Town)
	}
	if p.Town != "" {
		add("town alone", p.Town)
		add("大字", p.City+"大字"+p.Town)
	}
	add("digits for kanji", inDigits.Replace(whole))
	add("full-width digits for kanji", width.Widen.String(inDigits.Replace(whole)))
	add("kanji for digits", inKanji.Replace(whole))
	for _, group := range [][]string{{"ケ", "ヶ", "が", "ガ"}, {"ノ", "の", "之"}, {"ツ", "ッ", "つ"}} {
		for _, other := range group {
			add(group[0]+" "+strings.Join(group[1:], " "), swap(whole, group, other))
		}
	}
	add("new kanji", newKanji.Replace(whole))
	add("old kanji", oldKanji.Replace(whole))
	for _, tail := range []string{"1丁目2番3号", "三丁目4-5", "１－２－３", "123番地の4", " 2-8-1 港ビル5階", "グランドタワー301"} {
		if p.Town == "" && strings.HasPrefix(tail, "グ") {
			continue // without a number, a town that the table lacks looks the same
		}
		if p.Town != "" && strings.HasPrefix(tail, "三") && strings.ContainsAny(p.Town[len(p.Town)-3:], "一二三四五六七八九十百千") {
			continue // 八千三丁目 could be 3-chome of 八千 or one number
		}
		if last, _ := utf8.DecodeLastRuneInString(p.Town); unicode.IsDigit(last) && !strings.HasPrefix(tail, " ") && !strings.HasPrefix(tail, "グ") {
			continue // and 第３1丁目 could be 1-chome of 第３
		}
		add("then "+tail, p.Prefecture+p.City+p.Town+tail)
	}
	if p.Town == "" || p.TownKana != "" {
		reading := p.PrefectureKana + p.CityKana + p.TownKana
		add("katakana", reading)
		add("hiragana", strings.Map(func(r rune) rune {
			if r >= 'ァ' && r <= 'ヶ' {
				r -= 'ァ' - 'ぁ'
			}
			return r
		}, reading))
		add("half-width katakana", width.Narrow.String(reading))
		if last, _ := utf8.DecodeLastRuneInString(reading); !unicode.IsDigit(last) {
			add("katakana then 1-2-3", reading+"1-2-3")
		}
	}
	return all
}

// halfDigits is a number that nobody writes: partly in kanji, partly in digits.
var halfDigits = regexp.MustCompile(`[一二三四五六七八九十百千廿][0-9０-９]+[条軒丁番線区号町地階]|[0-9０-９][一二三四五六七八九十百]+[条軒丁番線区号町地階]`)

// swap replaces each of a group by one of it.
func swap(text string, group []string, by string) string {
	for _, one := range group {
		text = strings.ReplaceAll(text, one, by)
	}
	return text
}

// inDigits and inKanji write numbers up to 99 the other way, where they are plainly numbers:
// before what is counted or numbered.
var inDigits, inKanji = func() (*strings.Replacer, *strings.Replacer) {
	ones := strings.Split("/一/二/三/四/五/六/七/八/九", "/")
	var toDigits, toKanji []string
	for n := 99; n > 0; n-- {
		kanji := ones[n%10]
		if n >= 10 {
			kanji = ones[n/10] + "十" + kanji
		}
		if n >= 10 && n < 20 {
			kanji = "十" + ones[n%10]
		}
		digits := strings.TrimLeft(string(rune('0'+n/10))+string(rune('0'+n%10)), "0")
		for _, unit := range strings.Split("条 軒 丁 番 線 区 号 町 地割 階", " ") {
			toDigits = append(toDigits, kanji+unit, digits+unit)
			toKanji = append(toKanji, width.Widen.String(digits)+unit, kanji+unit)
		}
	}
	return strings.NewReplacer(toDigits...), strings.NewReplacer(toKanji...)
}()

// newKanji and oldKanji swap pairs that are common in addresses.
var newKanji, oldKanji = func() (*strings.Replacer, *strings.Replacer) {
	pairs := strings.Fields("沢澤 浜濱 斎齋 島嶋 竜龍 桧檜 渕淵 薮藪 曽曾 国國 桜櫻 広廣 鴬鶯 蛎蠣 竃竈 槙槇 諌諫 篭籠 富冨 館舘 辺邊 滝瀧 条條 塩鹽 関關 栄榮 円圓 万萬 岳嶽 鯵鰺 祢禰 高髙 崎﨑 吉𠮷 鶴靏 峰峯 柳栁 芦蘆 恵惠 麹麴 船舩")
	var toNew, toOld []string
	for _, pair := range pairs {
		r := []rune(pair)
		toNew = append(toNew, string(r[1]), string(r[0]))
		toOld = append(toOld, string(r[0]), string(r[1]))
	}
	return strings.NewReplacer(toNew...), strings.NewReplacer(toOld...)
}()
