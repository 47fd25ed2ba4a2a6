-- Free spam must not fill backends that never forget: what no block ever had stays in the local store, and leaves it.

-- 1: a list named it, and no block that was walked has it. Everything else was mined once, or it is not known.
ALTER TABLE content ADD COLUMN unmined INTEGER NOT NULL DEFAULT 0 CHECK (unmined IN (0, 1));
CREATE INDEX content_unmined ON content (median_time_seconds) WHERE unmined = 1;

-- Bytes that were here, of a transaction that was never mined, and were let go. Fetched again if a block has it.
CREATE TABLE let_go (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  -- The one it had: listing cursors name it, so that it is never given again.
  sequence INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  txid BLOB,
  median_time_seconds INTEGER,
  let_go_ms INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('expired', 'no-room')),
  -- When the bytes came again.
  returned_ms INTEGER,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;
CREATE INDEX let_go_by_sequence ON let_go (sequence);
