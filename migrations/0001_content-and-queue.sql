-- The catalog: a cache with a work queue in it. Losing it costs time, never data.
-- Hash types: 1 keccak256, 2 blake2s256. Times: *_ms are milliseconds since 1970, median_time_seconds is the chain's clock.

-- Listed by a node (a list does not say the hash type), bytes not here yet: the fetch queue.
CREATE TABLE seen (
  version_hash BLOB NOT NULL PRIMARY KEY CHECK (length(version_hash) = 32),
  size_bytes INTEGER NOT NULL,
  txid BLOB CHECK (length(txid) = 32),
  -- The node may prune the blob when the chain's clock has passed this by the retention.
  median_time_seconds INTEGER NOT NULL,
  first_seen_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_ms INTEGER NOT NULL DEFAULT 0,
  last_error_code TEXT,
  last_error TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX seen_by_deadline ON seen (median_time_seconds);

-- Content whose hash type is known because its bytes were verified once.
CREATE TABLE content (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  -- Order of first arrival; listing cursors name it.
  sequence INTEGER NOT NULL UNIQUE,
  -- 0 seen (no good copy left), 1 spooled, 2 stored.
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
  size_bytes INTEGER NOT NULL,
  txid BLOB CHECK (length(txid) = 32),
  median_time_seconds INTEGER,
  first_seen_ms INTEGER NOT NULL,
  spooled_ms INTEGER,
  stored_ms INTEGER,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE backend (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- 1: configured now. Only such backends count towards `stored`.
  configured INTEGER NOT NULL DEFAULT 0 CHECK (configured IN (0, 1))
) STRICT;

-- What each backend is to hold, and what was proven of it: 0 wanted, 1 good (fetched back and re-hashed), 2 damaged.
CREATE TABLE placement (
  backend_id INTEGER NOT NULL REFERENCES backend (id),
  sequence INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
  verified_ms INTEGER,
  PRIMARY KEY (backend_id, sequence)
) STRICT, WITHOUT ROWID;

CREATE INDEX placement_wanted ON placement (backend_id, sequence) WHERE state = 0;
