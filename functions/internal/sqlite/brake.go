package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"

	"sekisho/functions/internal/brake"
)

//go:embed brake.sql
var brakeSchema string

// Brake is the memory of the brake of the service called name.
func (db *DB) Brake(name string) brake.Memory { return brakeMemory{db, name} }

type brakeMemory struct {
	db   *DB
	name string
}

func (m brakeMemory) Load(ctx context.Context) (brake.State, error) {
	var s brake.State
	err := retry(ctx, func(ctx context.Context) error {
		var text string
		var version int64
		err := m.db.read.QueryRowContext(ctx, "SELECT state, version FROM brake WHERE name = ?", m.name).Scan(&text, &version)
		if err == nil {
			err = json.Unmarshal([]byte(text), &s)
			s.Version = version
		}
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return brake.State{}, nil
	}
	return s, err
}

func (m brakeMemory) Save(ctx context.Context, s brake.State) (brake.State, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	statement, args := "UPDATE brake SET state = ?, version = version + 1 WHERE name = ? AND version = ?", []any{string(text), m.name, s.Version}
	if s.Version == 0 {
		statement, args = "INSERT INTO brake (state, name, version) VALUES (?, ?, 1) ON CONFLICT DO NOTHING", args[:2]
	}
	err = m.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		res, err := tx.ExecContext(ctx, statement, args...)
		return changed(res, err, brake.ErrChanged)
	})
	if err == nil {
		s.Version++
	}
	return s, err
}
