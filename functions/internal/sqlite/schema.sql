-- Times are in milliseconds since 1970. revoked_at is NULL for a key without an end.

CREATE TABLE user (
  id         TEXT PRIMARY KEY,
  plan       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A key has its user's plan; there is no copy that could be out of date.
CREATE TABLE api_key (
  id             TEXT PRIMARY KEY,
  hash           BLOB NOT NULL,
  meter          TEXT NOT NULL,
  user_id        TEXT NOT NULL REFERENCES user (id),
  name           TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  revoked_at     INTEGER,
  off_categories TEXT NOT NULL, -- JSON arrays of names
  off_tools      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX api_key_user ON api_key (user_id, created_at, id);

CREATE TABLE meter (
  meter    TEXT NOT NULL,
  period   TEXT NOT NULL, -- 2026-11
  used     INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0),
  refunded INTEGER NOT NULL DEFAULT 0,
  denied   INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (meter, period)
) STRICT, WITHOUT ROWID;

CREATE TABLE operation (
  meter     TEXT NOT NULL,
  period    TEXT NOT NULL,
  operation TEXT NOT NULL,
  charged   INTEGER NOT NULL DEFAULT 0,
  refunded  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (meter, period, operation)
) STRICT, WITHOUT ROWID;

-- Admissions that were refunded.
CREATE TABLE refund (
  admission_id TEXT PRIMARY KEY,
  period       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The state of the upstreams' token buckets, in nanoseconds; see package ratelimit.
CREATE TABLE bucket (
  name TEXT PRIMARY KEY,
  tat  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE daily (
  quota TEXT NOT NULL,
  day   TEXT NOT NULL, -- 2026-11-30
  state TEXT NOT NULL, -- JSON object
  PRIMARY KEY (quota, day)
) STRICT, WITHOUT ROWID;
