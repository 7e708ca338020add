-- What apps hold that signed in with a key; see package grant.
CREATE TABLE app_grant (
  id         TEXT PRIMARY KEY,
  key_id     TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  until      INTEGER NOT NULL, -- when it ends, or ended
  state      TEXT NOT NULL, -- JSON object
  version    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX app_grant_key ON app_grant (key_id, created_at, id);
