package main

import (
	"context"
	"fmt"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/grant"
)

// grantRow is an app that signed in, in a listing.
type grantRow struct {
	ID       string `json:"grant_id"`
	Key      string `json:"key_id"`
	User     string `json:"user"`
	App      string `json:"app"`
	Host     string `json:"host"`
	Client   string `json:"client_id"`
	Status   string `json:"status"`
	SignedIn string `json:"signed_in_at"`
	Used     string `json:"used_at"`
	Ends     string `json:"ends_at"`
}

// endOf is when a grant ends: with its key, if not before.
func endOf(g grant.Grant, k account.Key) time.Time {
	if !k.RevokedAt.IsZero() && k.RevokedAt.Before(g.Until()) {
		return k.RevokedAt
	}
	return g.Until()
}

func rowOfGrant(g grant.Grant, k account.Key, now time.Time) grantRow {
	until := endOf(g, k)
	row := grantRow{
		ID: g.ID, Key: k.ID, User: k.UserID, App: g.Client.Name, Host: g.Client.Host, Client: g.Client.ID, Status: "active",
		SignedIn: g.CreatedAt.Format(time.RFC3339), Used: g.UsedAt.Format(time.RFC3339), Ends: until.UTC().Format(time.RFC3339),
	}
	if !now.Before(until) {
		row.Status = "ended"
	}
	return row
}

// grantsOf returns the grants of keys that an app has, or had until lately.
func grantsOf(ctx context.Context, s grant.Store, keys []account.Key) ([]grant.Grant, error) {
	ids := make([]string, 0, len(keys))
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	all, err := s.Grants(ctx, ids...)
	if err != nil {
		return nil, err
	}
	redeemed := all[:0]
	for _, g := range all {
		if !g.RedeemedAt.IsZero() {
			redeemed = append(redeemed, g)
		}
	}
	return redeemed, nil
}

func (c keysListCmd) listGrants(ctx context.Context, s streams) error {
	return withStores(ctx, c.storeFlags, func(st *stores) error {
		keys, err := st.Accounts().Keys(ctx, c.User)
		if err != nil {
			return err
		}
		grants, err := grantsOf(ctx, st.Grants(), keys)
		if err != nil {
			return err
		}
		byID := map[string]account.Key{}
		for _, k := range keys {
			byID[k.ID] = k
		}
		rows := make([]grantRow, 0, len(grants))
		for _, g := range grants {
			rows = append(rows, rowOfGrant(g, byID[g.KeyID], time.Now()))
		}
		if c.JSON {
			return printJSON(s.out, rows)
		}
		lines := make([][]string, 0, len(rows))
		for _, r := range rows {
			lines = append(lines, []string{r.ID, r.Key, r.User, r.Status, r.SignedIn, r.Used, r.Ends, r.Host, r.App})
		}
		return writeTable(s.out, []string{"GRANT ID", "KEY ID", "USER", "STATUS", "SIGNED IN", "LAST USED", "ENDS", "HOST", "APP"}, lines)
	})
}

func (c keysRevokeCmd) endGrant(ctx context.Context, s streams) error {
	return withStores(ctx, c.storeFlags, func(st *stores) error {
		g, err := grant.End(ctx, st.Grants(), c.Grant, time.Now())
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s has ended: %s is signed out. Instances that have it cached stop accepting its tokens within %s.\n",
			g.ID, printable(g.Client.String()), account.DefaultKeyCache)
		return nil
	})
}
