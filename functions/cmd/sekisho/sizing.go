package main

import (
	"errors"
	"fmt"
	"math"
)

// sizingCmd applies the rule in modules/function/README.md, as does Terraform's output `sizing`.
type sizingCmd struct {
	RPS     float64 `name:"rps" required:"" help:"Calls per second at peak, above 0."`
	Seconds float64 `required:"" help:"Average seconds per call, above 0."`
	JSON    bool    `name:"json" help:"Print JSON."`
}

// suggestConcurrency is Little's law plus headroom: if calls arrive independently, the number
// running at once has mean m and standard deviation √m, and m + 2√m covers 97 % of the time.
func suggestConcurrency(rps, seconds float64) (mean float64, suggested int) {
	mean = rps * seconds
	return mean, max(1, int(math.Ceil(mean+2*math.Sqrt(mean)-1e-9)))
}

func (c sizingCmd) Run(s streams) error {
	for _, v := range []float64{c.RPS, c.Seconds} {
		if !(v > 0 && v <= 1e6) {
			return badUsage(errors.New("--rps and --seconds must be above 0 and at most 1000000"))
		}
	}
	mean, suggested := suggestConcurrency(c.RPS, c.Seconds)
	if c.JSON {
		return printJSON(s.out, map[string]any{"rps": c.RPS, "seconds": c.Seconds, "mean_concurrency": mean, "reserved_concurrency": suggested})
	}
	_, err := fmt.Fprintf(s.out, `reserved_concurrency = %d

%g calls per second at %g s each keep %g running on average (rate × time).
Arrivals vary, so two standard deviations (2 × √%g = %.2f) are added and the sum is
rounded up. Calls beyond that are refused with 503 and not charged.
`, suggested, c.RPS, c.Seconds, mean, mean, 2*math.Sqrt(mean))
	return err
}
