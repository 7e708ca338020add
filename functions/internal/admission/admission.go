// Package admission is the gate ahead of all business code: it takes a call's units, or says
// why the call may not run. The authorizer asks it for calls of the REST API, and mcp for the
// calls that it dispatches itself, so both count and refuse alike.
package admission

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// Meter takes the units of a call; see usage.Gate.
type Meter interface {
	Admit(ctx context.Context, meter, operation string, units int64, limits usage.Limits) (usage.Grant, error)
}

// Gate decides about calls. It is safe for concurrent use.
type Gate struct {
	Meter Meter
	Plans account.Plans
	// Free bounds how often a key may call what takes no units; nil: not at all.
	Free *ratelimit.Budget
	// UpgradeURL is for callers over their limit; it may be empty. It must hold nothing that
	// needs escaping in JSON.
	UpgradeURL string
	// TellAt are the percentages of the monthly limit whose crossing is noted in the record.
	TellAt []int
	Now    func() time.Time
}

// Decision about one call of a key.
type Decision struct {
	// Refusal is nil if the call may run.
	Refusal *problem.Problem
	// Context goes to the function that serves the call, and into its record.
	Context gateway.AuthorizerContext
}

// Admit decides about a call of an operation. An error means that nobody could decide: the call
// must not run.
func (g *Gate) Admit(ctx context.Context, key account.Key, op *contract.Operation) (Decision, error) {
	var d Decision
	d.Context.Admission = gateway.Admission{
		Operation: op.ID, KeyID: key.ID, Meter: key.Meter, UserID: key.UserID, Plan: key.Plan,
	}
	limits, err := g.Plans.Limits(key.Plan)
	if err != nil {
		return d, fmt.Errorf("key %s: %w", key.ID, err)
	}
	if op.Units == 0 {
		if wait, ok := g.Free.Allow(key.Meter, g.Now()); !ok {
			d.refuse(problem.Denial(problem.Throttled, nil, wait))
		}
		return d, nil
	}
	grant, err := g.Meter.Admit(ctx, key.Meter, op.Code, op.Units, limits)
	if err != nil {
		return d, err
	}
	g.add(&d, grant)
	return d, nil
}

// Busy turns away whoever has sent too many unknown keys: ok says that err means that.
func Busy(op *contract.Operation, err error) (d Decision, ok bool) {
	busy := new(account.ThrottledError)
	if !errors.As(err, &busy) {
		return Decision{}, false
	}
	d.Context.Operation = op.ID
	d.refuse(problem.Denial(problem.Throttled, nil, busy.Wait))
	return d, true
}

// add puts what the meter decided into the decision.
func (g *Gate) add(d *Decision, grant usage.Grant) {
	d.Context.Period = grant.Period().String()
	d.Context.Quota = gateway.RenderQuotas(grant.Quotas())
	if !grant.Admitted {
		d.refuse(g.refusal(grant))
		return
	}
	d.Context.AdmissionID, d.Context.Units = grant.AdmissionID, gateway.Number(grant.Units)
	d.Context.RefundCap = gateway.Number(int64(grant.Limits.Monthly.FreeFailureCap()))
	if percent := grant.Crossed(g.TellAt); percent > 0 {
		d.Context.Crossed = gateway.Crossing{Percent: percent, Used: grant.Used, Limit: int64(grant.Limits.Monthly)}.String()
	}
}

// refuse denies the call. Only what the meter denied has a period: settle counts nothing else.
func (d *Decision) refuse(p *problem.Problem) {
	d.Refusal, d.Context.Denial, d.Context.Refusal = p, string(p.Code), gateway.RefusalOf(p)
}

// refusal says which limit denied the call, and when to come back.
func (g *Gate) refusal(grant usage.Grant) *problem.Problem {
	quota, ok := grant.Quota()
	if !ok { // the store is busy with this key
		return problem.Denial(problem.Throttled, nil, grant.Wait)
	}
	code := problem.LimitExceeded
	if grant.Refused == usage.PerSecond {
		code = problem.RateLimited
	}
	return problem.Denial(code, &problem.Quota{
		Limit: quota.Limit, Used: quota.Used(), Period: string(grant.Refused), ResetAt: usage.FormatReset(grant.Resets()), UpgradeURL: g.UpgradeURL,
	}, grant.Wait)
}

// FromEnv builds the gate of a deployment.
func FromEnv(rt boot.Runtime, s store.Store) (*Gate, error) {
	plans, err := PlansFromEnv(rt.Env)
	if err != nil {
		return nil, err
	}
	tellAt, err := rt.Env.Percentages(boot.UsagePercent)
	if err != nil {
		return nil, err
	}
	upgrade, err := rt.Env.URL(boot.UpgradeURL)
	if err != nil {
		return nil, err
	}
	memory, err := rt.Env.Seconds(boot.DenialMemorySeconds, usage.DefaultDenialMemory)
	if err != nil {
		return nil, err
	}
	return &Gate{
		Meter: usage.NewGate(s.Usage(), rt.Now, memory), Plans: plans,
		Free: ratelimit.NewBudget(usage.FreeRate), TellAt: tellAt, UpgradeURL: upgrade, Now: rt.Now,
	}, nil
}

// PlansFromEnv are the plans of a deployment, within the bounds of the contract that it serves: that one
// has been decoded, the one that is built in has not.
func PlansFromEnv(env boot.Env) (account.Plans, error) {
	api, err := contract.Load(env)
	if err != nil {
		return nil, err
	}
	return boot.Parse(env, boot.Plans, account.PlanParser(api.Limits.Plan))
}

// KeysFromEnv builds the authenticator of a deployment.
func KeysFromEnv(rt boot.Runtime, s store.Store) (*account.Authenticator, error) {
	cache, err := keyCache(rt)
	if err != nil {
		return nil, err
	}
	return account.NewAuthenticator(s.Accounts(), rt.Now, cache), nil
}

// GrantsFromEnv builds the authenticator of those who signed in with a key; keys finds the keys.
func GrantsFromEnv(rt boot.Runtime, s store.Store, keys *account.Authenticator) (*grant.Authenticator, error) {
	cache, err := keyCache(rt)
	if err != nil {
		return nil, err
	}
	return grant.NewAuthenticator(s.Grants(), keys, rt.Now, cache), nil
}

func keyCache(rt boot.Runtime) (time.Duration, error) {
	return rt.Env.Seconds(boot.KeyCacheSeconds, account.DefaultKeyCache)
}
