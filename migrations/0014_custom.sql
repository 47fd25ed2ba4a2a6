-- Bytes that match neither hash of what the chain commits to (dialect svc alone allows that): kept apart, under the hash
-- that they do have. Nothing here makes content held, stored or found.
CREATE TABLE custom (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  keccak BLOB NOT NULL CHECK (length(keccak) = 32),
  size_bytes INTEGER NOT NULL,
  kept_ms INTEGER NOT NULL,
  PRIMARY KEY (version_hash, keccak)
) STRICT, WITHOUT ROWID;

-- Backends that gave them back whole after the write.
CREATE TABLE custom_copy (
  version_hash BLOB NOT NULL,
  keccak BLOB NOT NULL,
  backend TEXT NOT NULL,
  verified_ms INTEGER NOT NULL,
  PRIMARY KEY (backend, version_hash, keccak)
) STRICT, WITHOUT ROWID;
