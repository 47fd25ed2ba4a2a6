-- The chain as this archive walked it: what must be held, by when, and what may be called final.

-- One row: where the walk began for good, and up to where its blocks are final.
CREATE TABLE walk (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  -- Fixed at the very first start.
  start_height INTEGER NOT NULL,
  -- Height of the highest block that was final by `finality`; every recorded block below it is its ancestor.
  final_height INTEGER,
  -- The rule that final_height was found by: under another one it counts no more.
  finality TEXT
) STRICT;

-- The branch that was walked: one block a height, each the parent of the next. The highest row is the cursor.
CREATE TABLE block (
  height INTEGER NOT NULL PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  previous_hash BLOB NOT NULL CHECK (length(previous_hash) = 32),
  time_seconds INTEGER NOT NULL,
  median_time_seconds INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Outputs in these blocks that commit to content. Final is a property of the height, never of a row here.
CREATE TABLE occurrence (
  height INTEGER NOT NULL,
  -- Place of the transaction in its block: it carries one blob.
  transaction_index INTEGER NOT NULL,
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  txid BLOB NOT NULL CHECK (length(txid) = 32),
  vout INTEGER NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;

CREATE INDEX occurrence_by_content ON occurrence (version_hash, hash_type, height, transaction_index);
CREATE INDEX occurrence_by_txid ON occurrence (txid);

-- Transactions of version 137 of which it is not plain what they carry: told, not guessed.
CREATE TABLE unclear_transaction (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  txid BLOB NOT NULL CHECK (length(txid) = 32),
  candidates INTEGER NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;

-- Occurrence records that are made and not written to every backend yet: JSON, lacking the size of the content.
CREATE TABLE unwritten_record (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;

-- Occurrences that were final and were reorganised away; their records are to be deleted.
CREATE TABLE withdrawn_occurrence (
  sequence INTEGER NOT NULL PRIMARY KEY,
  version_hash BLOB NOT NULL,
  hash_type INTEGER NOT NULL,
  txid BLOB NOT NULL,
  vout INTEGER NOT NULL,
  height INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  withdrawn_ms INTEGER NOT NULL,
  -- When its record was deleted everywhere.
  deleted_ms INTEGER
) STRICT;

CREATE INDEX withdrawn_undeleted ON withdrawn_occurrence (sequence) WHERE deleted_ms IS NULL;

-- Content that every source answered it has not got, after the deadline. `up_to_height`: of which occurrences that is said.
CREATE TABLE lost (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  up_to_height INTEGER NOT NULL,
  deadline_seconds INTEGER NOT NULL,
  recorded_ms INTEGER NOT NULL,
  -- JSON: who answered, and when.
  answers TEXT NOT NULL,
  -- Set when the bytes turned up after all.
  revoked_ms INTEGER,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;

-- However bytes turn up, the loss is revoked in the same commit.
CREATE TRIGGER lost_turned_up AFTER UPDATE OF state ON content WHEN NEW.state > 0
BEGIN
  UPDATE lost SET revoked_ms = unixepoch() * 1000 WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type AND revoked_ms IS NULL;
END;
CREATE TRIGGER lost_turned_up_anew AFTER INSERT ON content WHEN NEW.state > 0
BEGIN
  UPDATE lost SET revoked_ms = unixepoch() * 1000 WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type AND revoked_ms IS NULL;
END;

-- What the chain says of a queued blob. NULL: it is in no block of our branch, and goes last.
ALTER TABLE seen ADD COLUMN hash_type INTEGER;
-- 0: no list has named it, and size_bytes is the most that it can be.
ALTER TABLE seen ADD COLUMN size_known INTEGER NOT NULL DEFAULT 1;
DROP INDEX seen_by_deadline;
CREATE INDEX seen_by_urgency ON seen ((hash_type IS NULL), median_time_seconds);

-- Durable here, and not yet on as many backends as are required: alarmed by age.
CREATE INDEX content_unstored ON content (median_time_seconds) WHERE state = 1;
