package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
)

func (s accounts) CreateKey(ctx context.Context, k account.Key) error {
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error { return insertKey(ctx, tx, k) })
}

func insertKey(ctx context.Context, tx *transaction, k account.Key) error {
	var users, keys int
	err := tx.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM user WHERE id = ?1), (SELECT count(*) FROM api_key WHERE user_id = ?1)", k.UserID).
		Scan(&users, &keys)
	switch {
	case err != nil:
		return err
	case users == 0:
		return fmt.Errorf("user %s: %w", k.UserID, account.ErrNotFound)
	case keys >= account.MaxKeysPerUser:
		return fmt.Errorf("user %s: %w", k.UserID, account.ErrTooManyKeys)
	}
	off := k.Settings.Normalize()
	res, err := tx.ExecContext(ctx, `
INSERT INTO api_key (id, hash, meter, user_id, name, created_at, revoked_at, off_categories, off_tools)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		k.ID, k.Hash[:], k.Meter, k.UserID, k.Name, k.CreatedAt.UnixMilli(), end(k.RevokedAt),
		names(off.DisabledCategories), names(off.DisabledTools))
	return changed(res, err, fmt.Errorf("key %s: %w", k.ID, account.ErrExists))
}

func end(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

func names(list []string) string {
	text, _ := json.Marshal(list) // strings always encode
	return string(text)
}

func (s accounts) ReplaceKey(ctx context.Context, oldID string, endsAt time.Time, k account.Key) error {
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		old, err := readKey(ctx, tx, oldID)
		if err != nil {
			return err
		}
		if !old.RevokedAt.IsZero() {
			return fmt.Errorf("key %s: %w", oldID, account.ErrInactive)
		}
		if err := insertKey(ctx, tx, k); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE api_key SET revoked_at = ? WHERE id = ?", endsAt.UnixMilli(), oldID)
		return err
	})
}

func (s accounts) RevokeKey(ctx context.Context, id string, at time.Time) error {
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		res, err := tx.ExecContext(ctx, "UPDATE api_key SET revoked_at = min(coalesce(revoked_at, ?1), ?1) WHERE id = ?2", at.UnixMilli(), id)
		return changed(res, err, fmt.Errorf("key %s: %w", id, account.ErrNotFound))
	})
}

func (s accounts) PutSettings(ctx context.Context, keyID string, off account.Settings, was *account.Settings) error {
	off = off.Normalize()
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		if was != nil {
			switch k, err := readKey(ctx, tx, keyID); {
			case err != nil:
				return err
			case !k.Settings.Equal(*was) && !k.Settings.Equal(off):
				return fmt.Errorf("settings of key %s: %w", keyID, account.ErrChanged)
			}
		}
		res, err := tx.ExecContext(ctx, "UPDATE api_key SET off_categories = ?, off_tools = ? WHERE id = ?",
			names(off.DisabledCategories), names(off.DisabledTools), keyID)
		return changed(res, err, fmt.Errorf("key %s: %w", keyID, account.ErrNotFound))
	})
}

const selectKey = `
SELECT k.id, k.hash, k.meter, k.user_id, u.plan, k.name, k.created_at, k.revoked_at, k.off_categories, k.off_tools
FROM api_key k JOIN user u ON u.id = k.user_id`

const selectKeyByID = selectKey + " WHERE k.id = ?"

func (s accounts) Key(ctx context.Context, id string) (account.Key, error) {
	var k account.Key
	err := retry(ctx, func(ctx context.Context) (err error) {
		k, err = readKey(ctx, s.db.read, id)
		return err
	})
	return k, err
}

// querier is a connection pool or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func readKey(ctx context.Context, q querier, id string) (account.Key, error) {
	k, err := scanKey(q.QueryRowContext(ctx, selectKeyByID, id))
	if errors.Is(err, sql.ErrNoRows) {
		return account.Key{}, fmt.Errorf("key %s: %w", id, account.ErrNotFound)
	}
	return k, err
}

func scanKey(r row) (account.Key, error) {
	var k account.Key
	var hash []byte
	var created int64
	var revoked sql.NullInt64
	var categories, tools string
	err := r.Scan(&k.ID, &hash, &k.Meter, &k.UserID, &k.Plan, &k.Name, &created, &revoked, &categories, &tools)
	if err != nil {
		return account.Key{}, err
	}
	if len(hash) != len(k.Hash) {
		return account.Key{}, fmt.Errorf("key %s: its hash has %d bytes, want %d", k.ID, len(hash), len(k.Hash))
	}
	k.Hash = apikey.Hash(hash)
	k.CreatedAt = time.UnixMilli(created).UTC()
	if revoked.Valid {
		k.RevokedAt = time.UnixMilli(revoked.Int64).UTC()
	}
	err = errors.Join(
		json.Unmarshal([]byte(categories), &k.Settings.DisabledCategories),
		json.Unmarshal([]byte(tools), &k.Settings.DisabledTools),
	)
	return k, err
}

func (s accounts) Keys(ctx context.Context, userID string) ([]account.Key, error) {
	var keys []account.Key
	err := s.db.view(ctx, func(ctx context.Context, tx *transaction) (err error) {
		keys, err = list(ctx, tx, scanKey, selectKey+" WHERE ?1 = '' OR k.user_id = ?1 ORDER BY k.user_id, k.created_at, k.id", userID)
		return err
	})
	return keys, err
}
