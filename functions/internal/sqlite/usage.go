package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"sekisho/functions/internal/usage"
)

type meters struct{ db *DB }

// The statement checks the limit itself. A meter without a row needs the same check, so the
// SELECT yields nothing to insert if the limit is exceeded.
const admitSQL = `
INSERT INTO meter (meter, period, used)
SELECT ?1, ?2, ?3 WHERE ?4 < 0 OR ?3 <= ?4
ON CONFLICT (meter, period) DO UPDATE SET used = used + excluded.used
WHERE ?4 < 0 OR used + excluded.used <= ?4
RETURNING used`

const chargeSQL = `
INSERT INTO operation (meter, period, operation, charged) VALUES (?, ?, ?, ?)
ON CONFLICT (meter, period, operation) DO UPDATE SET charged = charged + excluded.charged`

// Admit is one local transaction, so there are no unclear writes.
func (s meters) Admit(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	if a.Units < 1 {
		return usage.Decision{}, fmt.Errorf("units must be at least 1, not %d", a.Units)
	}
	var d usage.Decision
	err := s.db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		d = usage.Decision{}
		period := a.Period.String()
		err := tx.QueryRowContext(ctx, admitSQL, a.Meter, period, a.Units, int64(a.Limit)).Scan(&d.Used)
		if errors.Is(err, sql.ErrNoRows) {
			d.Used, _, err = readMeter(ctx, tx, a.Meter, a.Period)
			return err
		}
		if err != nil {
			return err
		}
		d.Admitted = true
		_, err = tx.ExecContext(ctx, chargeSQL, a.Meter, period, a.Operation, a.Units)
		return err
	})
	if err != nil {
		return usage.Decision{}, fmt.Errorf("charge meter %s: %w", a.Meter, err)
	}
	return d, nil
}

func readMeter(ctx context.Context, tx *sql.Tx, meter string, p usage.Period) (used, refunded int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT used, refunded FROM meter WHERE meter = ? AND period = ?", meter, p.String()).Scan(&used, &refunded)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return used, refunded, err
}

// Refund writes the marker and the units in one transaction.
func (s meters) Refund(ctx context.Context, r usage.Refund) (usage.Outcome, error) {
	if r.Units < 1 {
		return "", fmt.Errorf("units must be at least 1, not %d", r.Units)
	}
	var outcome usage.Outcome
	err := s.db.update(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if outcome, err = decideRefund(ctx, tx, r); err != nil || outcome != usage.Refunded {
			return err
		}
		return applyRefund(ctx, tx, r)
	})
	if err != nil {
		return "", fmt.Errorf("refund %s to meter %s: %w", r.AdmissionID, r.Meter, err)
	}
	return outcome, nil
}

func decideRefund(ctx context.Context, tx *sql.Tx, r usage.Refund) (usage.Outcome, error) {
	var done bool
	err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM refund WHERE admission_id = ?)", r.AdmissionID).Scan(&done)
	if err != nil {
		return "", err
	}
	used, refunded, err := readMeter(ctx, tx, r.Meter, r.Period)
	if err != nil {
		return "", err
	}
	switch {
	case done:
		return usage.AlreadyRefunded, nil
	case used < r.Units:
		return usage.NothingCharged, nil
	case r.Cap != usage.Unlimited && refunded+r.Units > int64(r.Cap):
		return usage.CapReached, nil
	}
	return usage.Refunded, nil
}

func applyRefund(ctx context.Context, tx *sql.Tx, r usage.Refund) error {
	period := r.Period.String()
	_, mark := tx.ExecContext(ctx, "INSERT INTO refund (admission_id, period) VALUES (?, ?)", r.AdmissionID, period)
	_, meter := tx.ExecContext(ctx, "UPDATE meter SET used = used - ?1, refunded = refunded + ?1 WHERE meter = ?2 AND period = ?3", r.Units, r.Meter, period)
	_, operation := tx.ExecContext(ctx, `
INSERT INTO operation (meter, period, operation, refunded) VALUES (?, ?, ?, ?)
ON CONFLICT (meter, period, operation) DO UPDATE SET refunded = refunded + excluded.refunded`,
		r.Meter, period, r.Operation, r.Units)
	return errors.Join(mark, meter, operation)
}

func (s meters) AddDenied(ctx context.Context, meter string, p usage.Period, n int64) error {
	err := s.db.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
INSERT INTO meter (meter, period, denied) VALUES (?, ?, ?)
ON CONFLICT (meter, period) DO UPDATE SET denied = denied + excluded.denied`, meter, p.String(), n)
		return err
	})
	if err != nil {
		return fmt.Errorf("count denied calls of meter %s: %w", meter, err)
	}
	return nil
}

func (s meters) Counts(ctx context.Context, meter string, p usage.Period) (usage.Counts, error) {
	var c usage.Counts
	err := s.db.view(ctx, func(ctx context.Context, tx *sql.Tx) error {
		c = usage.Counts{Operations: map[string]usage.OperationCounts{}}
		err := tx.QueryRowContext(ctx, "SELECT used, refunded, denied FROM meter WHERE meter = ? AND period = ?", meter, p.String()).
			Scan(&c.Used, &c.Refunded, &c.Denied)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return readOperations(ctx, tx, meter, p, c.Operations)
	})
	if err != nil {
		return usage.Counts{}, fmt.Errorf("read meter %s: %w", meter, err)
	}
	return c, nil
}

func readOperations(ctx context.Context, tx *sql.Tx, meter string, p usage.Period, into map[string]usage.OperationCounts) error {
	rows, err := tx.QueryContext(ctx, "SELECT operation, charged, refunded FROM operation WHERE meter = ? AND period = ?", meter, p.String())
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var o usage.OperationCounts
		if err := rows.Scan(&name, &o.Charged, &o.Refunded); err != nil {
			return err
		}
		into[name] = o
	}
	return rows.Err()
}
