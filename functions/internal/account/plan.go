package account

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/usage"
)

// Plans maps the names of plans to what each allows a key. They are configuration of the
// deployment, not data.
type Plans map[string]usage.Limits

// DefaultPlans are used where nothing else is configured.
func DefaultPlans() Plans {
	plans := Plans{}
	for name, monthly := range map[string]usage.Limit{"free": 1_000, "starter": 10_000, "pro": 100_000} {
		plans[name] = usage.PerMonth(monthly)
	}
	return plans
}

// plan is how configuration writes one: each part may be left out, and {} has no limit.
type plan struct {
	Monthly   *int64   `json:"monthly,omitempty"`
	Daily     *int64   `json:"daily,omitempty"`
	PerSecond *float64 `json:"per_second,omitempty"`
	// Burst is how many calls may come at once; by default a second's worth.
	Burst *int `json:"burst,omitempty"`
}

// UnmarshalJSON also takes a number or null, the monthly limit: older versions wrote only that.
func (p *plan) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] != '{' {
		return json.Unmarshal(raw, &p.Monthly)
	}
	type parts plan
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode((*parts)(p))
}

// limits checks the parts.
func (p plan) limits(bounds contract.PlanBounds) (usage.Limits, error) {
	l := usage.NoLimits
	for _, part := range []struct {
		name  string
		given *int64
		limit *usage.Limit
	}{{"monthly", p.Monthly, &l.Monthly}, {"daily", p.Daily, &l.Daily}} {
		if part.given == nil {
			continue
		}
		if *part.given < 0 || *part.given > bounds.MostUnits {
			return l, fmt.Errorf("%s takes 0 to %d units, not %d; leave it out for no limit", part.name, bounds.MostUnits, *part.given)
		}
		*part.limit = usage.Limit(*part.given)
	}
	switch {
	case p.PerSecond == nil && p.Burst == nil:
		return l, nil
	case p.PerSecond == nil:
		return l, errors.New("burst goes with per_second: say how many calls per second the key may make in the long run")
	case !(*p.PerSecond >= bounds.LeastPerSecond && *p.PerSecond <= bounds.MostPerSecond):
		return l, fmt.Errorf("per_second takes %v to %v calls, not %v; leave it out for any rate", bounds.LeastPerSecond, bounds.MostPerSecond, *p.PerSecond)
	}
	l.Rate = ratelimit.Limit{PerSecond: *p.PerSecond, Burst: max(1, int(math.Ceil(*p.PerSecond)))}
	if p.Burst != nil {
		l.Rate.Burst = *p.Burst
	}
	if l.Rate.Burst < 1 || l.Rate.Burst > bounds.MostBurst {
		return l, fmt.Errorf("burst takes 1 to %d calls, not %d", bounds.MostBurst, l.Rate.Burst)
	}
	return l, nil
}

// planOf is the inverse of limits.
func planOf(l usage.Limits) (p plan) {
	if n := int64(l.Monthly); l.Monthly != usage.Unlimited {
		p.Monthly = &n
	}
	if n := int64(l.Daily); l.Daily != usage.Unlimited {
		p.Daily = &n
	}
	if l.Rated() {
		p.PerSecond, p.Burst = &l.Rate.PerSecond, &l.Rate.Burst
	}
	return p
}

// ParsePlans reads plans from a JSON object, each part of a plan optional:
// {"free":{"monthly":1000,"daily":200,"per_second":2,"burst":10},"internal":{}}. An empty
// text gives the default plans.
func ParsePlans(text string) (Plans, error) {
	bounds, err := defaultBounds()
	if err != nil {
		return nil, err
	}
	return parsePlans(text, bounds)
}

// defaultBounds are those of the default contract, and of all others: they are in the base.
func defaultBounds() (contract.PlanBounds, error) {
	api, err := contract.Default()
	if err != nil {
		return contract.PlanBounds{}, err
	}
	return api.Limits.Plan, nil
}

// PlanParser is ParsePlans for a function, which has read its contract and needs no other.
func PlanParser(bounds contract.PlanBounds) func(text string) (Plans, error) {
	return func(text string) (Plans, error) { return parsePlans(text, bounds) }
}

func parsePlans(text string, bounds contract.PlanBounds) (Plans, error) {
	if strings.TrimSpace(text) == "" {
		return DefaultPlans(), nil
	}
	var raw map[string]plan
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf(`plans: write a JSON object such as {"free":{"monthly":1000,"daily":200,"per_second":2,"burst":10},"internal":{}}: %w`, err)
	}
	plans := Plans{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if err := plans.add(name, raw[name], bounds); err != nil {
			return nil, err
		}
	}
	if len(plans) == 0 {
		return nil, errors.New("plans: name at least one")
	}
	return plans, nil
}

// planFlagForm is how a flag writes a plan.
const planFlagForm = "write NAME=MONTHLY, or NAME=PART,… with monthly=N, daily=N, per_second=N and burst=N, such as free=1000,daily=200,per_second=2,burst=10; NAME=unlimited has no limit"

// ParsePlanFlags reads plans from texts, one a plan: free=1000,daily=200,per_second=2,burst=10.
// The monthly limit needs no name; "unlimited" is a plan without limits.
func ParsePlanFlags(flags []string) (Plans, error) {
	bounds, err := defaultBounds()
	if err != nil {
		return nil, err
	}
	plans := Plans{}
	for _, flag := range flags {
		name, parts, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, fmt.Errorf("plan %q: %s", flag, planFlagForm)
		}
		if _, twice := plans[name]; twice {
			return nil, fmt.Errorf("plan %q is given twice", name)
		}
		p, err := parsePlanParts(parts)
		if err != nil {
			return nil, fmt.Errorf("plan %q: %w", name, err)
		}
		if err := plans.add(name, p, bounds); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func parsePlanParts(text string) (p plan, err error) {
	if text == "unlimited" {
		return p, nil
	}
	for _, part := range strings.Split(text, ",") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "monthly", part
		}
		var again bool
		switch name {
		case "monthly":
			again, err = setPart(&p.Monthly, value, parseWhole)
		case "daily":
			again, err = setPart(&p.Daily, value, parseWhole)
		case "per_second":
			again, err = setPart(&p.PerSecond, value, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
		case "burst":
			again, err = setPart(&p.Burst, value, strconv.Atoi)
		default:
			return p, fmt.Errorf("there is no part %q; %s", name, planFlagForm)
		}
		switch {
		case again:
			return p, fmt.Errorf("%s is given twice; %s", name, planFlagForm)
		case err != nil:
			return p, fmt.Errorf("%s takes a number, not %q; %s", name, value, planFlagForm)
		}
	}
	return p, nil
}

func parseWhole(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func setPart[T any](part **T, value string, parse func(string) (T, error)) (again bool, err error) {
	if *part != nil {
		return true, nil
	}
	v, err := parse(value)
	*part = &v
	return false, err
}

func (p Plans) add(name string, parts plan, bounds contract.PlanBounds) error {
	if ok, err := regexp.MatchString(bounds.Name, name); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("plan %q: use 1 to 32 lower-case letters, digits, _ and -, beginning with a letter", name)
	}
	limits, err := parts.limits(bounds)
	if err != nil {
		return fmt.Errorf("plan %q: %w", name, err)
	}
	p[name] = limits
	return nil
}

// Limits returns what a plan allows; an error names the plans that there are.
func (p Plans) Limits(name string) (usage.Limits, error) {
	limits, ok := p[name]
	if !ok {
		return usage.Limits{}, p.check(name)
	}
	return limits, nil
}

// Names lists the plans in order.
func (p Plans) Names() []string { return slices.Sorted(maps.Keys(p)) }

// String writes the plans as ParsePlans reads them.
func (p Plans) String() string {
	raw := make(map[string]plan, len(p))
	for name, limits := range p {
		raw[name] = planOf(limits)
	}
	text, _ := json.Marshal(raw) // numbers always encode
	return string(text)
}

// Describe says what a plan allows, for people: "1000 a month, 200 a day, 2 per second (10 at once)".
func (p Plans) Describe(name string) string {
	l := p[name]
	var parts []string
	if l.Monthly != usage.Unlimited {
		parts = append(parts, l.Monthly.String()+" a month")
	}
	if l.Daily != usage.Unlimited {
		parts = append(parts, l.Daily.String()+" a day")
	}
	if l.Rated() {
		parts = append(parts, fmt.Sprintf("%v per second (%d at once)", l.Rate.PerSecond, l.Rate.Burst))
	}
	if parts == nil {
		return "unlimited"
	}
	return strings.Join(parts, ", ")
}

func (p Plans) check(name string) error {
	if _, ok := p[name]; ok {
		return nil
	}
	return fmt.Errorf("plan %q is not configured; there are: %s", name, strings.Join(p.Names(), ", "))
}
