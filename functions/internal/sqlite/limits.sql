-- Days, the rate, refunds that the cap does not count, and what is told once.

ALTER TABLE meter ADD COLUMN unstarted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE meter ADD COLUMN tat INTEGER NOT NULL DEFAULT 0; -- nanoseconds; see package ratelimit

CREATE TABLE meter_day (
  meter TEXT NOT NULL,
  day   TEXT NOT NULL, -- 2026-11-30
  used  INTEGER NOT NULL CHECK (used >= 0),
  PRIMARY KEY (meter, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE once (
  name   TEXT NOT NULL,
  period TEXT NOT NULL,
  PRIMARY KEY (name, period)
) STRICT, WITHOUT ROWID;
