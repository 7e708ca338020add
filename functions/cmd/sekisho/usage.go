package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/usage"
)

type usageCmd struct {
	Show   usageShowCmd   `cmd:"" default:"withargs" help:"Show each meter's totals (the default)."`
	Export usageExportCmd `cmd:"" help:"Split a month by meter and tool, for chargeback."`
}

type usageShowCmd struct {
	storeFlags
	Month  string `help:"Month in UTC, by default the current one." placeholder:"YYYY-MM"`
	Format string `help:"Output format: table, csv or json." enum:"table,csv,json" default:"table"`
}

// usageRow is one meter in one month.
type usageRow struct {
	Meter     string `json:"meter"`
	User      string `json:"user"`
	Plan      string `json:"plan"`
	Name      string `json:"name"`
	Month     string `json:"month"`
	Limit     *int64 `json:"limit"`
	Used      int64  `json:"used"`
	Remaining *int64 `json:"remaining"`
	Refunded  int64  `json:"refunded"`
	Denied    int64  `json:"denied"`
	// Apps are signed in now with the meter's keys.
	Apps []string `json:"apps"`
}

func (c usageShowCmd) Run(ctx context.Context, s streams) error {
	period, err := monthOf(c.Month, time.Now())
	if err != nil {
		return badUsage(err)
	}
	st, err := c.open(ctx)
	if err != nil {
		return err
	}
	rows, err := usageRows(ctx, st, period)
	if err = errors.Join(err, st.close()); err != nil {
		return err
	}
	switch c.Format {
	case "json":
		return printJSON(s.out, rows)
	case "csv":
		return usageCSV(s.out, rows)
	default:
		return usageTable(s.out, rows)
	}
}

func monthOf(text string, now time.Time) (usage.Period, error) {
	if text == "" {
		return usage.PeriodOf(now), nil
	}
	return usage.ParsePeriod(text)
}

// owner is the newest key of a meter, whose user, plan and name are shown.
type owner struct {
	account.Key
	// apps are signed in with the meter's keys, each named once.
	apps []string
}

// owners maps each meter to its owner.
func owners(ctx context.Context, st *stores) (map[string]owner, error) {
	keys, err := st.Accounts().Keys(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	byID, byMeter := map[string]account.Key{}, map[string]owner{}
	for _, k := range keys {
		byID[k.ID] = k
		if old, ok := byMeter[k.Meter]; !ok || k.CreatedAt.After(old.CreatedAt) {
			byMeter[k.Meter] = owner{Key: k, apps: []string{}}
		}
	}
	grants, err := grantsOf(ctx, st.Grants(), keys)
	if err != nil {
		return nil, err
	}
	for _, g := range grants {
		k := byID[g.KeyID]
		if time.Now().Before(endOf(g, k)) {
			o := byMeter[k.Meter]
			o.apps = append(o.apps, g.Client.String())
			slices.Sort(o.apps)
			o.apps = slices.Compact(o.apps)
			byMeter[k.Meter] = o
		}
	}
	return byMeter, nil
}

// appsCell has all of them in one cell.
func appsCell(apps []string) string { return strings.Join(apps, "; ") }

// usageRows reads the month of every meter.
func usageRows(ctx context.Context, st *stores, period usage.Period) ([]usageRow, error) {
	metered, err := owners(ctx, st)
	if err != nil {
		return nil, err
	}
	rows := make([]usageRow, 0, len(metered))
	for meter, k := range metered {
		months, err := st.Usage().Counts(ctx, meter, period)
		if err != nil {
			return nil, fmt.Errorf("usage of %s: %w", meter, err)
		}
		counts := months[0]
		row := usageRow{
			Meter: meter, User: k.UserID, Plan: k.Plan, Name: k.Name, Month: period.String(),
			Used: counts.Used, Refunded: counts.Refunded, Denied: counts.Denied, Apps: k.apps,
		}
		// A plan that is no longer configured has no limit to show.
		if limits, err := st.plans.Limits(k.Plan); err == nil {
			if left, ok := limits.Monthly.Remaining(counts.Used); ok {
				n := int64(limits.Monthly)
				row.Limit, row.Remaining = &n, &left
			}
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b usageRow) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Meter, b.Meter))
	})
	return rows, nil
}

var usageHeader = []string{"meter", "user", "plan", "name", "month", "limit", "used", "remaining", "refunded", "denied", "apps"}

func (r usageRow) cells(none string) []string {
	number := func(n *int64) string {
		if n == nil {
			return none
		}
		return strconv.FormatInt(*n, 10)
	}
	return []string{
		r.Meter, r.User, r.Plan, r.Name, r.Month, number(r.Limit), strconv.FormatInt(r.Used, 10),
		number(r.Remaining), strconv.FormatInt(r.Refunded, 10), strconv.FormatInt(r.Denied, 10), appsCell(r.Apps),
	}
}

func usageCSV(w io.Writer, rows []usageRow) error {
	lines := make([][]string, 0, len(rows))
	for _, r := range rows {
		lines = append(lines, r.cells(""))
	}
	return writeCSV(w, usageHeader, lines)
}

func usageTable(w io.Writer, rows []usageRow) error {
	lines := make([][]string, 0, len(rows))
	for _, r := range rows {
		c := r.cells("none")
		lines = append(lines, []string{c[0], c[1], c[2], c[4], c[6], c[5], c[7], c[8], c[9], c[3], c[10]})
	}
	return writeTable(w, []string{"METER", "USER", "PLAN", "MONTH", "USED", "LIMIT", "REMAINING", "REFUNDED", "DENIED", "NAME", "APPS"}, lines)
}
