package cost

import (
	"encoding/xml"
	"fmt"
	"io"
	"math/big"
	"strings"
)

// bar is one row of the picture: the same calls, served one way.
type bar struct {
	name  string
	lines []Line
}

// colours of the lines. Neighbours differ in lightness too, for those who don't see hues.
var colours = map[string]string{
	lineGateway: "#1f5a94", "AgentCore": "#7a3e9d", "authorizer": "#e0912f", "mcp": "#2e7d5b", "business": "#9bc53d",
	"settle": "#6d4c41", lineDynamoDB: "#c0392b", lineLogs: "#8fa6b2", lineDataOut: "#3d4f5c",
}

// Measures of the picture in pixels.
const (
	svgWidth   = 860
	barLeft    = 190
	barWidth   = 560
	barHeight  = 34
	barStep    = 56
	barTop     = 74
	legendStep = 22
)

// SVG draws the report and its alternatives as bars of one scale, with the figures of the
// lines below.
func (r *Report) SVG(w io.Writer) error {
	bars := []bar{{"Sekisho", r.Lines}}
	for _, a := range r.Alternatives {
		bars = append(bars, bar{a.Name, a.Lines})
	}
	largest := new(big.Rat)
	for _, b := range bars {
		if total := Total(b.lines); total.Cmp(largest) > 0 {
			largest = total
		}
	}
	legendTop := barTop + len(bars)*barStep + 14
	rows := (len(r.Lines) + 2) / 2
	height := legendTop + rows*legendStep + 40
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label=%s font-family="Helvetica, Arial, sans-serif">`+"\n",
		svgWidth, height, svgWidth, height, quoted(r.title()))
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", svgWidth, height)
	label(&s, 24, 32, 18, "bold", "start", r.title())
	label(&s, 24, 54, 13, "normal", "start", r.subtitle())
	for i, b := range bars {
		drawBar(&s, b, barTop+i*barStep, largest)
	}
	r.drawLegend(&s, legendTop, rows)
	label(&s, 24, height-14, 11, "normal", "start",
		"Counts measured by running the stack; durations "+r.Model.Setup.Origin+". Made by make generate.")
	s.WriteString("</svg>\n")
	_, err := io.WriteString(w, s.String())
	return err
}

func (r *Report) title() string {
	_, total, decimals := Rounded(r.Lines)
	return fmt.Sprintf("What %s calls cost: %s USD", count(r.Traffic.Calls), fixed(total, decimals))
}

func (r *Report) subtitle() string {
	return fmt.Sprintf("by %s in %s, %s of them denied", strings.ToUpper(string(r.Traffic.Via)), r.Model.Prices.Region, count(r.Traffic.Denied))
}

func drawBar(s *strings.Builder, b bar, top int, largest *big.Rat) {
	label(s, barLeft-12, top+22, 14, "normal", "end", b.name)
	x := float64(barLeft)
	for _, l := range b.lines {
		if l.USD.Sign() == 0 || largest.Sign() == 0 {
			continue
		}
		part, _ := new(big.Rat).Quo(l.USD, largest).Float64()
		fmt.Fprintf(s, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s: %s USD</title></rect>`+"\n",
			x, top, part*barWidth, barHeight, colours[l.Name], escaped(l.Name), l.USD.FloatString(2))
		x += part * barWidth
	}
	_, total, decimals := Rounded(b.lines)
	label(s, int(x)+10, top+22, 14, "bold", "start", fixed(total, decimals))
}

// drawLegend explains the colours, with Sekisho's figures, in two columns.
func (r *Report) drawLegend(s *strings.Builder, top, rows int) {
	amounts, _, decimals := Rounded(r.Lines)
	entries := make([][2]string, 0, len(r.Lines)+1)
	for i, l := range r.Lines {
		entries = append(entries, [2]string{l.Name, l.Name + "  " + fixed(amounts[i], decimals)})
	}
	entries = append(entries, [2]string{"AgentCore", "AgentCore (none in Sekisho)"})
	for i, e := range entries {
		x, y := barLeft+(i/rows)*280, top+(i%rows)*legendStep
		fmt.Fprintf(s, `<rect x="%d" y="%d" width="14" height="14" fill="%s"/>`+"\n", x, y, colours[e[0]])
		label(s, x+22, y+12, 13, "normal", "start", e[1])
	}
}

func label(s *strings.Builder, x, y, size int, weight, anchor, text string) {
	fmt.Fprintf(s, `<text x="%d" y="%d" font-size="%d" font-weight="%s" text-anchor="%s" fill="#1c2733">%s</text>`+"\n",
		x, y, size, weight, anchor, escaped(text))
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder takes everything
	return b.String()
}

func quoted(text string) string { return `"` + escaped(text) + `"` }
