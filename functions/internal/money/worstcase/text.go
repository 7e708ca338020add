package worstcase

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
)

// Markdown writes the report for people.
func (r Report) Markdown(w io.Writer) error {
	p := printer{w: w}
	p.hour("The worst hour", r.Open)
	if usd, ok := r.BeforeBrake(); ok {
		p.printf("\nUntil the brake has stopped it: %.4f USD × %s s / 3600 s = **%.2f USD** (%s).\n", r.Open.USD, number(r.Trip.DelaySeconds), cents(usd), r.Trip.How)
	} else {
		p.printf("\nThe brake never comes: the alarm waits for %s USD an hour.\n", number(r.Trip.USDPerHour))
	}
	p.printf("\n")
	p.hour("An hour with the brake on", r.Braked)
	p.printf("\n%s\n", r.Note)
	return p.err
}

// Figures are what the report comes to, in US dollars rounded up to the cent.
type Figures struct {
	// BeforeBrake is nil if the brake never comes.
	BeforeBrake *float64 `json:"usd_before_brake"`
	PerHour     float64  `json:"usd_per_hour"`
	WhileBraked float64  `json:"usd_while_braked"`
}

// Figures rounds the report's three figures.
func (r Report) Figures() Figures {
	f := Figures{PerHour: cents(r.Open.USD), WhileBraked: cents(r.Braked.USD)}
	if usd, ok := r.BeforeBrake(); ok {
		usd = cents(usd)
		f.BeforeBrake = &usd
	}
	return f
}

// JSON writes the figures for programs.
func (r Report) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(r.Figures()) }

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, values ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, values...)
	}
}

func (p *printer) hour(title string, h Hour) {
	p.printf("## %s: %.2f USD\n\n| Part | Arithmetic | USD |\n| --- | --- | ---: |\n", title, cents(h.USD))
	for _, part := range h.Parts {
		p.printf("| %s | %s | %.4f |\n", part.Name, part.How, part.USD)
	}
	p.printf("| **an hour, rounded up** | | **%.2f** |\n", cents(h.USD))
}

// cents rounds up, since it is a bound; but not for an error in the last digits.
func cents(usd float64) float64 { return math.Ceil(usd*100-0.000001) / 100 }
