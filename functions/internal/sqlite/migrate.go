package sqlite

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
)

//go:embed schema.sql
var schema string

//go:embed limits.sql
var limitsSchema string

// migrations lead from one version of the schema to the next; user_version counts them.
// A migration that was released is never changed: add another one.
var migrations = []string{schema, brakeSchema, limitsSchema, grantSchema}

// applicationID, "SEKI" in ASCII, marks a file as ours.
const applicationID = 0x53454b49

// migrate brings the file up to this program's schema. If several processes open it at
// once, the first does the work.
func (db *DB) migrate(ctx context.Context) error {
	return db.update(ctx, func(ctx context.Context, tx *transaction) error {
		version, err := versionOf(ctx, tx)
		if err != nil {
			return err
		}
		if version > len(migrations) {
			return fmt.Errorf("it was written by a newer sekisho (schema %d, this one knows %d); update sekisho or choose another directory", version, len(migrations))
		}
		for ; version < len(migrations); version++ {
			mark := fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version+1, applicationID)
			if _, err := tx.ExecContext(ctx, migrations[version]+mark); err != nil {
				return fmt.Errorf("schema %d: %w", version+1, err)
			}
		}
		return nil
	})
}

func versionOf(ctx context.Context, tx *transaction) (int, error) {
	var version, application, tables int
	err := errors.Join(
		tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version),
		tx.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application),
		tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables),
	)
	if err != nil {
		return 0, err
	}
	if application != applicationID && (version != 0 || tables != 0) {
		return 0, errors.New("it belongs to another program; choose another directory")
	}
	return version, nil
}
