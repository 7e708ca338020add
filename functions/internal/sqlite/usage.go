package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"sekisho/functions/internal/usage"
)

type meters struct{ db *DB }

// Admit is one transaction, applied or not: there are no unclear writes, and no other
// admission comes between the look and the change.
func (s meters) Admit(ctx context.Context, a usage.Admission) (usage.Decision, error) {
	if a.Units < 1 {
		return usage.Decision{}, fmt.Errorf("units must be at least 1, not %d", a.Units)
	}
	var d usage.Decision
	err := s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		state, err := readState(ctx, tx, a)
		if err != nil {
			return err
		}
		next, decision := a.Decide(state)
		if d = decision; !d.Admitted {
			return nil
		}
		return charge(ctx, tx, a, next)
	})
	if err != nil {
		return usage.Decision{}, fmt.Errorf("charge meter %s: %w", a.Meter, err)
	}
	return d, nil
}

const (
	selectState = `
SELECT meter.used, meter.tat, coalesce(meter_day.used, 0) FROM meter
LEFT JOIN meter_day ON meter_day.meter = meter.meter AND meter_day.day = ?3
WHERE meter.meter = ?1 AND meter.period = ?2`
	putState = `
INSERT INTO meter (meter, period, used, tat) VALUES (?, ?, ?, ?)
ON CONFLICT (meter, period) DO UPDATE SET used = excluded.used, tat = excluded.tat`
	putDay = `
INSERT INTO meter_day (meter, day, used) VALUES (?, ?, ?)
ON CONFLICT (meter, day) DO UPDATE SET used = excluded.used`
	addOperation = `
INSERT INTO operation (meter, period, operation, charged, refunded) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (meter, period, operation) DO UPDATE SET charged = charged + excluded.charged, refunded = refunded + excluded.refunded`
)

func readState(ctx context.Context, tx *transaction, a usage.Admission) (s usage.State, err error) {
	err = tx.QueryRowContext(ctx, selectState, a.Meter, a.Period().String(), a.Day().String()).Scan(&s.Used, &s.TAT, &s.Today)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil || s.TAT != 0 || !a.Limits.Rated() {
		return s, err
	}
	// The bucket does not fill at the turn of the month.
	err = tx.QueryRowContext(ctx, "SELECT tat FROM meter WHERE meter = ? AND period = ?", a.Meter, a.Period().Before(1).String()).Scan(&s.TAT)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return s, err
}

func charge(ctx context.Context, tx *transaction, a usage.Admission, next usage.State) error {
	period := a.Period().String()
	_, meter := tx.ExecContext(ctx, putState, a.Meter, period, next.Used, next.TAT)
	_, day := tx.ExecContext(ctx, putDay, a.Meter, a.Day().String(), next.Today)
	return errors.Join(meter, day, addToOperation(ctx, tx, a.Meter, period, a.Operation, a.Units, 0))
}

// addToOperation counts units of an operation, unless it has no code.
func addToOperation(ctx context.Context, tx *transaction, meter, period, operation string, charged, refunded int64) error {
	if operation == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, addOperation, meter, period, operation, charged, refunded)
	return err
}

// Refund is one transaction: all marks and units, or nothing.
func (s meters) Refund(ctx context.Context, r usage.Refund) ([]usage.Outcome, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var outcomes []usage.Outcome
	err := s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		balance, err := readBalance(ctx, tx, r)
		if err != nil {
			return err
		}
		outcomes = r.Decide(balance)
		for i, c := range r.Calls {
			if outcomes[i] == usage.Refunded {
				err = errors.Join(err, giveBack(ctx, tx, r, c))
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("refund to meter %s: %w", r.Meter, err)
	}
	return outcomes, nil
}

func readBalance(ctx context.Context, tx *transaction, r usage.Refund) (b usage.Balance, err error) {
	b = usage.Balance{Done: map[string]bool{}}
	c, err := readCounts(ctx, tx, r.Meter, r.Period)
	if err != nil {
		return b, err
	}
	b.Used, b.Days, b.Free = c.Used, c.Days, c.Refunded-c.Unstarted
	for _, call := range r.Calls {
		var done bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM refund WHERE admission_id = ?)", call.AdmissionID).Scan(&done); err != nil {
			return b, err
		}
		b.Done[call.AdmissionID] = done
	}
	return b, nil
}

func giveBack(ctx context.Context, tx *transaction, r usage.Refund, c usage.FailedCall) error {
	day, _ := c.Day() // checked
	var unstarted int64
	if c.Unstarted {
		unstarted = c.Units
	}
	period := r.Period.String()
	_, mark := tx.ExecContext(ctx, "INSERT INTO refund (admission_id, period) VALUES (?, ?)", c.AdmissionID, period)
	_, meter := tx.ExecContext(ctx, `
UPDATE meter SET used = used - ?1, refunded = refunded + ?1, unstarted = unstarted + ?2
WHERE meter = ?3 AND period = ?4`, c.Units, unstarted, r.Meter, period)
	_, daily := tx.ExecContext(ctx, "UPDATE meter_day SET used = used - ?1 WHERE meter = ?2 AND day = ?3", c.Units, r.Meter, day.String())
	return errors.Join(mark, meter, daily, addToOperation(ctx, tx, r.Meter, period, c.Operation, 0, c.Units))
}

func (s meters) AddDenied(ctx context.Context, meter string, p usage.Period, n int64) error {
	err := s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
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

func (s meters) Counts(ctx context.Context, meter string, periods ...usage.Period) ([]usage.Counts, error) {
	var counts []usage.Counts
	err := s.db.view(ctx, func(ctx context.Context, tx *transaction) error {
		counts = make([]usage.Counts, 0, len(periods))
		for _, p := range periods {
			c, err := readCounts(ctx, tx, meter, p)
			if err != nil {
				return err
			}
			counts = append(counts, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read meter %s: %w", meter, err)
	}
	return counts, nil
}

func readCounts(ctx context.Context, tx *transaction, meter string, p usage.Period) (usage.Counts, error) {
	c := usage.Counts{Days: map[usage.Day]int64{}, Operations: map[string]usage.OperationCounts{}}
	err := tx.QueryRowContext(ctx, "SELECT used, refunded, unstarted, denied, tat FROM meter WHERE meter = ? AND period = ?", meter, p.String()).
		Scan(&c.Used, &c.Refunded, &c.Unstarted, &c.Denied, &c.TAT)
	if errors.Is(err, sql.ErrNoRows) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	return c, errors.Join(readDays(ctx, tx, meter, p, c.Days), readOperations(ctx, tx, meter, p, c.Operations))
}

func readDays(ctx context.Context, tx *transaction, meter string, p usage.Period, into map[usage.Day]int64) error {
	rows, err := tx.QueryContext(ctx, "SELECT day, used FROM meter_day WHERE meter = ? AND day >= ? AND day < ? AND used <> 0",
		meter, p.Start().Format(time.DateOnly), p.Reset().Format(time.DateOnly))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		var used int64
		if err := rows.Scan(&text, &used); err != nil {
			return err
		}
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return fmt.Errorf("day %q: %w", text, err)
		}
		into[usage.DayOf(day)] = used
	}
	return rows.Err()
}

func readOperations(ctx context.Context, tx *transaction, meter string, p usage.Period, into map[string]usage.OperationCounts) error {
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

// Once inserts a mark, if it is not there.
func (s meters) Once(ctx context.Context, name string, p usage.Period) (first bool, err error) {
	err = s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		done, err := tx.ExecContext(ctx, "INSERT INTO once (name, period) VALUES (?, ?) ON CONFLICT DO NOTHING", name, p.String())
		if err != nil {
			return err
		}
		n, err := done.RowsAffected()
		first = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("mark %s: %w", name, err)
	}
	return first, nil
}

// Again removes the mark.
func (s meters) Again(ctx context.Context, name string, p usage.Period) error {
	err := s.db.update(ctx, func(ctx context.Context, tx *transaction) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM once WHERE name = ? AND period = ?", name, p.String())
		return err
	})
	if err != nil {
		return fmt.Errorf("unmark %s: %w", name, err)
	}
	return nil
}
