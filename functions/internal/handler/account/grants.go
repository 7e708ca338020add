package account

import (
	"context"
	"errors"
	"fmt"

	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/usage"
)

// Grants are the apps that are signed in with a key.
type Grants struct {
	Grants []App `json:"grants"`
}

// App is one of them.
type App struct {
	GrantID    string `json:"grant_id"`
	ClientName string `json:"client_name"`
	ClientHost string `json:"client_host"`
	SignedInAt string `json:"signed_in_at"`
	LastUsedAt string `json:"last_used_at"`
	ExpiresAt  string `json:"expires_at"`
}

// GrantQuery names a grant.
type GrantQuery struct {
	GrantID string `json:"grant_id"`
}

func (h *Handler) listGrants(ctx context.Context, call rest.Call, _ None) (Grants, error) {
	all, err := h.Grants.Grants(ctx, call.Caller.KeyID)
	if err != nil {
		return Grants{}, fmt.Errorf("list grants of %s: %w", call.Caller.KeyID, err)
	}
	out := Grants{Grants: []App{}}
	now := h.Now()
	for _, g := range all {
		if g.SignedIn(now) {
			out.Grants = append(out.Grants, App{
				GrantID: g.ID, ClientName: g.Client.Name, ClientHost: g.Client.Host, SignedInAt: usage.FormatReset(g.CreatedAt),
				LastUsedAt: usage.FormatReset(g.UsedAt), ExpiresAt: usage.FormatReset(g.ExpiresAt),
			})
		}
	}
	return out, nil
}

// endGrant ends a grant of the caller's own key; those of others are not found.
func (h *Handler) endGrant(ctx context.Context, call rest.Call, in GrantQuery) (Grants, error) {
	g, err := h.Grants.Grant(ctx, in.GrantID)
	switch {
	case errors.Is(err, grant.ErrNotFound) || err == nil && g.KeyID != call.Caller.KeyID:
		return Grants{}, problem.Newf(problem.NotFound, "grant_id: no app signed in with your key has the grant %s; GET /v1/user/grants lists those that have.", reply.Quote(in.GrantID))
	case err != nil:
		return Grants{}, fmt.Errorf("read grant %s: %w", in.GrantID, err)
	}
	if _, err := grant.End(ctx, h.Grants, in.GrantID, h.Now()); err != nil {
		return Grants{}, fmt.Errorf("end grant %s: %w", in.GrantID, err)
	}
	return h.listGrants(ctx, call, None{})
}
