package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/ratelimit"
)

type buckets struct{ db *DB }

// Take decides under the write lock, with the arithmetic of ratelimit.Limit.
func (s buckets) Take(ctx context.Context, bucket string, l ratelimit.Limit, now time.Time, maxWait time.Duration) (ratelimit.Slot, error) {
	var slot ratelimit.Slot
	err := s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		var tat int64
		err := tx.QueryRowContext(ctx, "SELECT tat FROM bucket WHERE name = ?", bucket).Scan(&tat)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if tat, slot = l.Decide(tat, now.UnixNano(), maxWait); !slot.OK {
			return nil
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO bucket (name, tat) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET tat = excluded.tat", bucket, tat)
		return err
	})
	if err != nil {
		return ratelimit.Slot{}, fmt.Errorf("take a place in bucket %s: %w", bucket, err)
	}
	return slot, nil
}

type dailies struct{ db *DB }

// Update changes a day's state under the write lock.
func (s dailies) Update(ctx context.Context, quota, day string, change func(ratelimit.Day) (ratelimit.Day, bool)) error {
	err := s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		state, err := readDay(ctx, tx, quota, day)
		if err != nil {
			return err
		}
		next, ok := change(state)
		if !ok {
			return nil
		}
		text, err := json.Marshal(next)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO daily (quota, day, state) VALUES (?, ?, ?) ON CONFLICT (quota, day) DO UPDATE SET state = excluded.state", quota, day, string(text))
		return err
	})
	if err != nil {
		return fmt.Errorf("daily quota %s: %w", quota, err)
	}
	return nil
}

func readDay(ctx context.Context, tx *transaction, quota, day string) (ratelimit.Day, error) {
	var text string
	err := tx.QueryRowContext(ctx, "SELECT state FROM daily WHERE quota = ? AND day = ?", quota, day).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var state ratelimit.Day
	err = json.Unmarshal([]byte(text), &state)
	return state, err
}
