package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/account"
)

type accounts struct{ db *DB }

func (s accounts) CreateUser(ctx context.Context, u account.User) error {
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		res, err := tx.ExecContext(ctx, "INSERT INTO user (id, plan, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			u.ID, u.Plan, u.CreatedAt.UnixMilli())
		return changed(res, err, fmt.Errorf("user %s: %w", u.ID, account.ErrExists))
	})
}

// changed returns the error otherwise if a statement changed no row.
func changed(res sql.Result, err, otherwise error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return otherwise
	}
	return nil
}

func (s accounts) User(ctx context.Context, id string) (account.User, error) {
	var u account.User
	err := s.db.view(ctx, func(ctx context.Context, tx *transaction) (err error) {
		u, err = scanUser(tx.QueryRowContext(ctx, "SELECT id, plan, created_at FROM user WHERE id = ?", id))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("user %s: %w", id, account.ErrNotFound)
		}
		return err
	})
	return u, err
}

type row interface{ Scan(into ...any) error }

func scanUser(r row) (account.User, error) {
	var u account.User
	var created int64
	err := r.Scan(&u.ID, &u.Plan, &created)
	u.CreatedAt = time.UnixMilli(created).UTC()
	return u, err
}

func list[T any](ctx context.Context, tx *transaction, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// SetPlan changes one row, since keys have no copy of the plan here.
func (s accounts) SetPlan(ctx context.Context, userID, plan string) error {
	return s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		res, err := tx.ExecContext(ctx, "UPDATE user SET plan = ? WHERE id = ?", plan, userID)
		return changed(res, err, fmt.Errorf("user %s: %w", userID, account.ErrNotFound))
	})
}
