-- What is wanted of the brake, and what was there before it; see package brake.
CREATE TABLE brake (
  name    TEXT PRIMARY KEY,
  state   TEXT NOT NULL, -- JSON object
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
