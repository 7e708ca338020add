//go:build interop

package page

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// mostPictureBytes is what a picture in the README may weigh.
const mostPictureBytes = 80_000

// TestPictures draws the README's pictures with -update, and holds the README to them.
func TestPictures(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, draw := range map[string]func(*testing.T) []byte{"usage.png": drawUsage, "tools.png": drawTools} {
		path := filepath.Join("pictures", name)
		if *update {
			if err := os.WriteFile(path, fewColours(t, draw(t)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(content)); err != nil || len(content) > mostPictureBytes {
			t.Errorf("%s: %v, %d bytes", path, err, len(content))
		}
		if !strings.Contains(string(readme), `src="tests/interop/page/pictures/`+name+`"`) {
			t.Errorf("the README doesn't show %s", name)
		}
	}
}

// drawUsage is the usage on a desk, after a year.
func drawUsage(t *testing.T) []byte {
	s := start(t)
	key := s.key(t, roomy)
	s.seed(t, key)
	b := open(t, s)
	b.size(1100, 790)
	b.scheme("light")
	b.signIn(key.Key)
	b.wait("the charts", `document.querySelectorAll(".chart canvas").length === 2`)
	js[any](b, `document.activeElement.blur(); null`)
	return do(b, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data
}

// drawTools is the choice of tools on a phone, in Japanese and in the dark.
func drawTools(t *testing.T) []byte {
	s := start(t)
	b := newProfile(t).blank(t, s.host())
	do(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: js[string](b, `navigator.userAgent`), AcceptLanguage: "ja"})
	b.visit(s.url + "/")
	b.size(390, 700)
	b.scheme("dark")
	b.signIn(s.key(t, roomy).Key)
	b.view("tools")
	b.click(toolSwitch("calendar.business_days_between"))
	b.saved()
	js[any](b, `document.activeElement.blur(); scrollTo(0, 0); null`)
	return do(b, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data
}

// fewColours makes a picture small: a page has few colours, so its 256 commonest do.
func fewColours(t *testing.T, content []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.Color]int{}
	for y := full.Bounds().Min.Y; y < full.Bounds().Max.Y; y++ {
		for x := full.Bounds().Min.X; x < full.Bounds().Max.X; x++ {
			count[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return cmp.Compare(count[b], count[a]) })
	few := image.NewPaletted(full.Bounds(), colours[:min(len(colours), 256)])
	draw.Draw(few, few.Bounds(), full, full.Bounds().Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
