package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"sekisho/functions/internal/grant"
)

//go:embed grants.sql
var grantSchema string

type grants struct{ db *DB }

func (s grants) Create(ctx context.Context, g grant.Grant) error {
	state, err := g.Encode()
	if err != nil {
		return err
	}
	created := g.CreatedAt.UnixMilli()
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM app_grant WHERE key_id = ? AND until <= ?", g.KeyID, created); err != nil {
			return err
		}
		var live int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM app_grant WHERE key_id = ?", g.KeyID).Scan(&live); err != nil {
			return err
		}
		if live >= grant.MaxPerKey {
			return fmt.Errorf("key %s: %w", g.KeyID, grant.ErrTooMany)
		}
		res, err := tx.ExecContext(ctx, "INSERT INTO app_grant (id, key_id, created_at, until, state, version) VALUES (?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING",
			g.ID, g.KeyID, created, g.Until().UnixMilli(), state)
		return changed(res, err, fmt.Errorf("grant %s: %w", g.ID, grant.ErrExists))
	})
}

const selectGrant = "SELECT id, state, version FROM app_grant"

func (s grants) Grant(ctx context.Context, id string) (grant.Grant, error) {
	var g grant.Grant
	err := retry(ctx, func(ctx context.Context) (err error) {
		g, err = scanGrant(s.db.read.QueryRowContext(ctx, selectGrant+" WHERE id = ?", id))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return grant.Grant{}, fmt.Errorf("grant %s: %w", id, grant.ErrNotFound)
	}
	return g, err
}

func scanGrant(r row) (grant.Grant, error) {
	var id, state string
	var version int64
	if err := r.Scan(&id, &state, &version); err != nil {
		return grant.Grant{}, err
	}
	return grant.Decode(id, state, version)
}

func (s grants) Put(ctx context.Context, g grant.Grant) error {
	state, err := g.Encode()
	if err != nil {
		return err
	}
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		// The second condition recognises this very change, sent again.
		res, err := tx.ExecContext(ctx, `
UPDATE app_grant SET until = ?1, state = ?2, version = ?3 + 1
WHERE id = ?4 AND (version = ?3 OR version = ?3 + 1 AND state = ?2)`, g.Until().UnixMilli(), state, g.Version, g.ID)
		return changed(res, err, fmt.Errorf("grant %s: %w", g.ID, grant.ErrChanged))
	})
}

func (s grants) Grants(ctx context.Context, keyIDs ...string) ([]grant.Grant, error) {
	var all []grant.Grant
	err := s.db.view(ctx, func(ctx context.Context, tx *transaction) error {
		all = nil
		for _, id := range keyIDs {
			of, err := list(ctx, tx, scanGrant, selectGrant+" WHERE key_id = ? ORDER BY created_at, id", id)
			if err != nil {
				return err
			}
			all = append(all, of...)
		}
		return nil
	})
	return all, err
}
