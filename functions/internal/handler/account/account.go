// Package account serves a key holder's own figures, settings and signed-in apps. Its operations are
// exempt: they are authenticated, and counted nowhere.
package account

import (
	"context"
	"fmt"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Counter reads the counts of a meter.
type Counter interface {
	Counts(ctx context.Context, meter string, periods ...usage.Period) ([]usage.Counts, error)
}

// Handler serves the operations of the function "account".
type Handler struct {
	API    *contract.API
	Store  account.Store
	Grants grant.Store
	Usage  Counter
	Plans  account.Plans
	// UpgradeURL is where to get a larger plan; "" where there is none.
	UpgradeURL string
	Now        func() time.Time
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

// None is the argument of operations that take none.
type None struct{}

// Operations lists what the function serves.
func (h *Handler) Operations() map[string]rest.Operation {
	return map[string]rest.Operation{
		"utility.get_usage":         rest.Typed(h.usage),
		"account.get_usage_history": rest.Typed(h.history),
		"account.get_tool_settings": rest.Typed(h.getSettings),
		"account.put_tool_settings": rest.Typed(h.putSettings),
		"account.list_grants":       rest.Typed(h.listGrants),
		"account.end_grant":         rest.Typed(h.endGrant),
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
		plans, err := admission.PlansFromEnv(rt.Env)
		if err != nil {
			return nil, err
		}
		upgrade, err := rt.Env.URL(boot.UpgradeURL)
		if err != nil {
			return nil, err
		}
		h := &Handler{API: api, Store: s.Accounts(), Grants: s.Grants(), Usage: s.Usage(), Plans: plans, UpgradeURL: upgrade, Now: rt.Now}
		return rest.Serve(rt, h.Operations())
	}
}
