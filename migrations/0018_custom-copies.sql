-- Copies of custom bytes are listed, read again, mended and found again as those of blobs are.

CREATE TABLE custom_entry (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  keccak BLOB NOT NULL CHECK (length(keccak) = 32),
  size_bytes INTEGER NOT NULL,
  kept_ms INTEGER NOT NULL,
  -- 1: some place that is configured is proven to hold the bytes. Follows from `custom_copy`.
  is_held INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),
  UNIQUE (version_hash, keccak)
) STRICT;
CREATE TABLE custom_place (
  sequence INTEGER NOT NULL,
  backend TEXT NOT NULL,
  -- 1 good, 2 damaged or missing.
  state INTEGER NOT NULL CHECK (state IN (1, 2)),
  verified_ms INTEGER,
  PRIMARY KEY (sequence, backend)
) STRICT, WITHOUT ROWID;

INSERT INTO custom_entry (version_hash, keccak, size_bytes, kept_ms, is_held)
  SELECT version_hash, keccak, size_bytes, kept_ms, 1 FROM custom ORDER BY kept_ms;
INSERT INTO custom_place SELECT sequence, backend, 1, verified_ms FROM custom_copy
  JOIN custom_entry USING (version_hash, keccak);
-- They came to the data folder first, and were read back there.
INSERT INTO custom_place SELECT sequence, 'local', 1, kept_ms FROM custom_entry;

DROP TABLE custom_copy;
DROP TABLE custom;
ALTER TABLE custom_entry RENAME TO custom;
ALTER TABLE custom_place RENAME TO custom_copy;
CREATE INDEX custom_damaged ON custom_copy (backend, sequence) WHERE state = 2;

-- As for blobs: what is withheld is not kept, whoever finds it.
CREATE TRIGGER withheld_not_custom BEFORE INSERT ON custom
WHEN EXISTS (SELECT 1 FROM withheld WHERE version_hash = NEW.version_hash)
BEGIN
  SELECT RAISE(IGNORE);
END;
