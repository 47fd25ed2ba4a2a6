-- What exists nowhere else is written to every backend with names: the latest state of each document, in the order of
-- change. A path is below audit/<archiver id>/.
CREATE TABLE evidence (
  path TEXT NOT NULL PRIMARY KEY,
  document TEXT NOT NULL,
  -- Grows with every change of any document: a backend that has everything up to one needs what is behind it.
  sequence INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

-- Up to where each store has it. No row: nothing yet; a store that is added later gets all of it.
CREATE TABLE evidence_delivery (
  store TEXT NOT NULL PRIMARY KEY,
  sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- NULL: the bytes turned up.
ALTER TABLE lost ADD COLUMN revoked_because TEXT;
CREATE INDEX lost_revoked ON lost (version_hash) WHERE revoked_ms IS NOT NULL;
