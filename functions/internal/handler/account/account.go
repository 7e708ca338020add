// Package account serves a key holder's own figures and settings. Its operations are
// exempt: they are authenticated, and counted nowhere.
package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Counter reads the counts of a meter.
type Counter interface {
	Counts(ctx context.Context, meter string, periods ...usage.Period) ([]usage.Counts, error)
}

// Handler serves the operations of the function "account".
type Handler struct {
	API   *contract.API
	Store account.Store
	Usage Counter
	Plans account.Plans
	Now   func() time.Time
}

// Usage is this month's usage of a key.
type Usage struct {
	Plan         string `json:"plan"`
	Period       string `json:"period"`
	MonthlyLimit *int64 `json:"monthly_limit"`
	MonthlyUsed  int64  `json:"monthly_used"`
	Remaining    *int64 `json:"remaining"`
	ResetAt      string `json:"reset_at"`
}

// Settings are the tool settings of a key.
type Settings struct {
	DisabledCategories []string `json:"disabled_categories"`
	DisabledTools      []string `json:"disabled_tools"`
	Tools              []Tool   `json:"tools"`
}

// Tool is one tool, and whether the key may use it.
type Tool struct {
	Name     string `json:"name"`
	Category string `json:"category"`
	Enabled  bool   `json:"enabled"`
}

// SettingsUpdate replaces the settings of a key.
type SettingsUpdate struct {
	DisabledCategories []string `json:"disabled_categories,omitempty"`
	DisabledTools      []string `json:"disabled_tools,omitempty"`
}

// None is the argument of operations that take none.
type None struct{}

// Operations lists what the function serves.
func (h *Handler) Operations() map[string]rest.Operation {
	return map[string]rest.Operation{
		"utility.get_usage":         rest.Typed(h.usage),
		"account.get_usage_history": rest.Typed(h.history),
		"account.get_tool_settings": rest.Typed(h.getSettings),
		"account.put_tool_settings": rest.Typed(h.putSettings),
	}
}

func (h *Handler) usage(ctx context.Context, call rest.Call, _ None) (Usage, error) {
	limits, err := h.Plans.Limits(call.Caller.Plan)
	if err != nil {
		return Usage{}, err
	}
	period := usage.PeriodOf(h.Now())
	months, err := h.Usage.Counts(ctx, call.Caller.Meter, period)
	if err != nil {
		return Usage{}, fmt.Errorf("read usage: %w", err)
	}
	counts := months[0]
	out := Usage{
		Plan: call.Caller.Plan, Period: "monthly", MonthlyUsed: counts.Used,
		ResetAt: usage.FormatReset(period.Reset()),
	}
	if left, ok := limits.Monthly.Remaining(counts.Used); ok {
		n := int64(limits.Monthly)
		out.MonthlyLimit, out.Remaining = &n, &left
	}
	return out, nil
}

func (h *Handler) getSettings(ctx context.Context, call rest.Call, _ None) (Settings, error) {
	key, err := h.Store.Key(ctx, call.Caller.KeyID)
	if err != nil {
		return Settings{}, fmt.Errorf("read key %s: %w", call.Caller.KeyID, err)
	}
	return h.describe(key.Settings), nil
}

func (h *Handler) putSettings(ctx context.Context, call rest.Call, in SettingsUpdate) (Settings, error) {
	settings := account.Settings{
		DisabledCategories: in.DisabledCategories, DisabledTools: in.DisabledTools,
	}.Normalize()
	if err := h.check(settings); err != nil {
		return Settings{}, err
	}
	err := h.Store.PutSettings(ctx, call.Caller.KeyID, settings)
	if errors.Is(err, account.ErrNotFound) {
		return Settings{}, problem.New(problem.KeyNotFound, "")
	}
	if err != nil {
		return Settings{}, fmt.Errorf("write settings of %s: %w", call.Caller.KeyID, err)
	}
	return h.describe(settings), nil
}

// check refuses names that stand for nothing: a typo would leave a tool on.
func (h *Handler) check(s account.Settings) error {
	categories := h.API.ToolCategories()
	for _, name := range s.DisabledTools {
		if _, ok := categories[name]; !ok {
			return problem.Newf(problem.InvalidArgument, "disabled_tools: there is no tool %s; there are: %s",
				reply.Quote(name), strings.Join(slices.Sorted(maps.Keys(categories)), ", "))
		}
	}
	known := slices.Sorted(maps.Values(categories))
	known = slices.Compact(known)
	for _, name := range s.DisabledCategories {
		if !slices.Contains(known, name) {
			return problem.Newf(problem.InvalidArgument, "disabled_categories: there is no category %s; there are: %s",
				reply.Quote(name), strings.Join(known, ", "))
		}
	}
	return nil
}

func (h *Handler) describe(s account.Settings) Settings {
	out := Settings{
		DisabledCategories: append([]string{}, s.DisabledCategories...),
		DisabledTools:      append([]string{}, s.DisabledTools...),
		Tools:              []Tool{},
	}
	categories := h.API.ToolCategories()
	for _, name := range slices.Sorted(maps.Keys(categories)) {
		out.Tools = append(out.Tools, Tool{
			Name: name, Category: categories[name], Enabled: s.Allows(name, categories[name]),
		})
	}
	return out
}

// FromEnv builds the function "account" of a deployment.
func FromEnv(open store.Open) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load(rt.Env)
		if err != nil {
			return nil, err
		}
		s, err := open(rt.Env, boot.AccountsTable, boot.UsageTable)
		if err != nil {
			return nil, err
		}
		plans, err := boot.Parse(rt.Env, boot.Plans, account.PlanParser(api.Limits.Plan))
		if err != nil {
			return nil, err
		}
		h := &Handler{API: api, Store: s.Accounts(), Usage: s.Usage(), Plans: plans, Now: rt.Now}
		return rest.Serve(rt, h.Operations())
	}
}
