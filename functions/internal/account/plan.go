package account

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/usage"
)

// Plans maps each plan's name to its monthly limit per key. Plans are configuration of the
// deployment, not data.
type Plans map[string]usage.Limit

// DefaultPlans apply if no others are configured.
func DefaultPlans() Plans { return Plans{"free": 1_000, "starter": 10_000, "pro": 100_000} }

var planName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// maxLimit is far above what an account can call in a month, and exact as a JSON number.
const maxLimit = 1_000_000_000_000

// ParsePlans reads plans from a JSON object of names and limits, where null means no limit:
// {"free":1000,"internal":null}. An empty text yields the default plans.
func ParsePlans(text string) (Plans, error) {
	if strings.TrimSpace(text) == "" {
		return DefaultPlans(), nil
	}
	var raw map[string]*int64
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf(`plans: want a JSON object of whole numbers such as {"free":1000,"internal":null}: %w`, err)
	}
	plans := Plans{}
	for name, n := range raw {
		limit := usage.Unlimited
		if n != nil {
			limit = usage.Limit(*n)
			if *n < 0 {
				return nil, fmt.Errorf("plan %q: the limit must not be negative; write null for none", name)
			}
		}
		if err := plans.add(name, limit); err != nil {
			return nil, err
		}
	}
	if len(plans) == 0 {
		return nil, fmt.Errorf("plans: name at least one")
	}
	return plans, nil
}

// ParsePlanFlags reads plans written as NAME=LIMIT, where LIMIT is a whole number or
// "unlimited".
func ParsePlanFlags(flags []string) (Plans, error) {
	plans := Plans{}
	for _, flag := range flags {
		name, value, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, fmt.Errorf("plan %q: write NAME=LIMIT, such as free=1000 or internal=unlimited", flag)
		}
		limit := usage.Unlimited
		if value != "unlimited" {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 0 {
				return nil, fmt.Errorf("plan %q: the limit must be a whole number of 0 or more, or unlimited, not %q", name, value)
			}
			limit = usage.Limit(n)
		}
		if _, ok := plans[name]; ok {
			return nil, fmt.Errorf("plan %q is given twice", name)
		}
		if err := plans.add(name, limit); err != nil {
			return nil, err
		}
	}
	return plans, nil
}

func (p Plans) add(name string, limit usage.Limit) error {
	if !planName.MatchString(name) {
		return fmt.Errorf("plan %q: use 1 to 32 lower-case letters, digits, _ and -, starting with a letter", name)
	}
	if limit > maxLimit {
		return fmt.Errorf("plan %q: the limit must be at most %d", name, int64(maxLimit))
	}
	p[name] = limit
	return nil
}

// Limit returns the limit of a plan. The error for an unknown plan lists the known ones.
func (p Plans) Limit(name string) (usage.Limit, error) {
	limit, ok := p[name]
	if !ok {
		return 0, p.check(name)
	}
	return limit, nil
}

// Names lists the plans in alphabetical order.
func (p Plans) Names() []string { return slices.Sorted(maps.Keys(p)) }

// String writes the plans in the form that ParsePlans reads.
func (p Plans) String() string {
	raw := make(map[string]*int64, len(p))
	for name, limit := range p {
		raw[name] = nil
		if limit != usage.Unlimited {
			n := int64(limit)
			raw[name] = &n
		}
	}
	text, _ := json.Marshal(raw) // a map of numbers always encodes
	return string(text)
}

func (p Plans) check(name string) error {
	if _, ok := p[name]; ok {
		return nil
	}
	return fmt.Errorf("plan %q is not configured; choose one of: %s", name, strings.Join(p.Names(), ", "))
}
