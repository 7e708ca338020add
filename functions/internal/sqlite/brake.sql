-- The state of each service's brake; see package brake.
CREATE TABLE brake (
  name    TEXT PRIMARY KEY,
  state   TEXT NOT NULL, -- JSON object
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
