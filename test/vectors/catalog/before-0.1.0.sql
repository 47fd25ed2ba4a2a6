-- Schema of a catalog as commit 5566def made it, before 0.1.0: its 21 migrations one after the other, and their record.

CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_ms INTEGER NOT NULL) STRICT;
CREATE TABLE seen (
  version_hash BLOB NOT NULL PRIMARY KEY CHECK (length(version_hash) = 32),
  size_bytes INTEGER NOT NULL,
  txid BLOB CHECK (length(txid) = 32),
  median_time_seconds INTEGER NOT NULL,
  first_seen_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_ms INTEGER NOT NULL DEFAULT 0,
  last_error_code TEXT,
  last_error TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX seen_by_deadline ON seen (median_time_seconds);
CREATE TABLE content (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  sequence INTEGER NOT NULL UNIQUE,
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
  configured INTEGER NOT NULL DEFAULT 0 CHECK (configured IN (0, 1))
) STRICT;
CREATE TABLE placement (
  backend_id INTEGER NOT NULL REFERENCES backend (id),
  sequence INTEGER NOT NULL,
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
  verified_ms INTEGER,
  PRIMARY KEY (backend_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX placement_wanted ON placement (backend_id, sequence) WHERE state = 0;
INSERT INTO migration VALUES (1, '0001_content-and-queue.sql', '94e8897fe4a97dfc02edfa866c398f17658114ae4628c9222014ebc129bb4b33', 0);
CREATE TABLE rebuilt (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  finished_ms INTEGER NOT NULL
) STRICT;
INSERT INTO rebuilt (only, finished_ms) SELECT 1, 0 WHERE EXISTS (SELECT 1 FROM content);
INSERT INTO migration VALUES (2, '0002_rebuilt.sql', '70730957a49dba39581e2c6a49c3289457143467031621b079eef7f4e541a1e7', 0);
ALTER TABLE backend ADD COLUMN counts INTEGER NOT NULL DEFAULT 1 CHECK (counts IN (0, 1));
ALTER TABLE placement ADD COLUMN urgency INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN due_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN next_attempt_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN last_error_code TEXT;
ALTER TABLE placement ADD COLUMN last_error TEXT;
DROP INDEX placement_wanted;
CREATE INDEX placement_queue ON placement (backend_id, urgency, due_seconds, sequence) WHERE state <> 1;
CREATE TABLE replication_basis (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  basis TEXT NOT NULL
) STRICT;
CREATE TABLE scrub_progress (
  backend_id INTEGER NOT NULL REFERENCES backend (id),
  purpose TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  PRIMARY KEY (backend_id, purpose)
) STRICT, WITHOUT ROWID;
INSERT INTO migration VALUES (3, '0003_replication.sql', '61760a1655d874ba8eb4686a451cb8690bb813713bacf38885f260b2ee4cee2f', 0);
CREATE TABLE walk (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  start_height INTEGER NOT NULL,
  final_height INTEGER,
  finality TEXT
) STRICT;
CREATE TABLE block (
  height INTEGER NOT NULL PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 32),
  previous_hash BLOB NOT NULL CHECK (length(previous_hash) = 32),
  time_seconds INTEGER NOT NULL,
  median_time_seconds INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE occurrence (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  txid BLOB NOT NULL CHECK (length(txid) = 32),
  vout INTEGER NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;
CREATE INDEX occurrence_by_content ON occurrence (version_hash, hash_type, height, transaction_index);
CREATE INDEX occurrence_by_txid ON occurrence (txid);
CREATE TABLE unclear_transaction (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  txid BLOB NOT NULL CHECK (length(txid) = 32),
  candidates INTEGER NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;
CREATE TABLE unwritten_record (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;
CREATE TABLE withdrawn_occurrence (
  sequence INTEGER NOT NULL PRIMARY KEY,
  version_hash BLOB NOT NULL,
  hash_type INTEGER NOT NULL,
  txid BLOB NOT NULL,
  vout INTEGER NOT NULL,
  height INTEGER NOT NULL,
  block_hash BLOB NOT NULL,
  withdrawn_ms INTEGER NOT NULL,
  deleted_ms INTEGER
) STRICT;
CREATE INDEX withdrawn_undeleted ON withdrawn_occurrence (sequence) WHERE deleted_ms IS NULL;
CREATE TABLE lost (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  up_to_height INTEGER NOT NULL,
  deadline_seconds INTEGER NOT NULL,
  recorded_ms INTEGER NOT NULL,
  answers TEXT NOT NULL,
  revoked_ms INTEGER,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER lost_turned_up AFTER UPDATE OF state ON content WHEN NEW.state > 0
BEGIN
  UPDATE lost SET revoked_ms = unixepoch() * 1000 WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type AND revoked_ms IS NULL;
END;
CREATE TRIGGER lost_turned_up_anew AFTER INSERT ON content WHEN NEW.state > 0
BEGIN
  UPDATE lost SET revoked_ms = unixepoch() * 1000 WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type AND revoked_ms IS NULL;
END;
ALTER TABLE seen ADD COLUMN hash_type INTEGER;
ALTER TABLE seen ADD COLUMN size_known INTEGER NOT NULL DEFAULT 1;
DROP INDEX seen_by_deadline;
CREATE INDEX seen_by_urgency ON seen ((hash_type IS NULL), median_time_seconds);
CREATE INDEX content_unstored ON content (median_time_seconds) WHERE state = 1;
INSERT INTO migration VALUES (4, '0004_chain.sql', 'f99138c03abefbb12578d1fd4b5b24fc03aef217b64504ddb6c47b4a3dcedaab', 0);
CREATE INDEX seen_failing ON seen ((hash_type IS NULL), median_time_seconds) WHERE attempts > 0;
INSERT INTO migration VALUES (5, '0005_failing.sql', '12212a4f01ca78fe5e0ec96b672e04e2f414b162e0744213aa54a995ee225a5b', 0);
CREATE INDEX seen_due ON seen ((hash_type IS NULL), median_time_seconds) WHERE next_attempt_ms <> 9007199254740991;
INSERT INTO migration VALUES (6, '0006_resting.sql', 'e6769965be9f47ee3a34b7da3d78582fe4d4a978ce983c8169196dd573e8f485', 0);
CREATE TABLE evidence (
  path TEXT NOT NULL PRIMARY KEY,
  document TEXT NOT NULL,
  sequence INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE TABLE evidence_delivery (
  store TEXT NOT NULL PRIMARY KEY,
  sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ALTER TABLE lost ADD COLUMN revoked_because TEXT;
CREATE INDEX lost_revoked ON lost (version_hash) WHERE revoked_ms IS NOT NULL;
INSERT INTO migration VALUES (7, '0007_evidence.sql', '6f074bf59fa1433f4b0f3f87e45392b52c2bf45fee21c5287da0cfe60183d79a', 0);
ALTER TABLE content ADD COLUMN unmined INTEGER NOT NULL DEFAULT 0 CHECK (unmined IN (0, 1));
CREATE INDEX content_unmined ON content (median_time_seconds) WHERE unmined = 1;
CREATE TABLE let_go (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  sequence INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  txid BLOB,
  median_time_seconds INTEGER,
  let_go_ms INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('expired', 'no-room')),
  returned_ms INTEGER,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;
CREATE INDEX let_go_by_sequence ON let_go (sequence);
INSERT INTO migration VALUES (8, '0008_unmined.sql', 'f68348b694ef79b7e0b314a8f4bfb83254eac38053ee5d16d7cb91a7a45c2fe0', 0);
CREATE TABLE task_run (
  task TEXT NOT NULL PRIMARY KEY,
  begun_ms INTEGER NOT NULL,
  succeeded_ms INTEGER,
  outcome TEXT NOT NULL CHECK (outcome IN ('never', 'running', 'succeeded', 'failed', 'interrupted'))
) STRICT, WITHOUT ROWID;
INSERT INTO migration VALUES (9, '0009_task-runs.sql', 'fddfdfdc49be4157086bfdf3148935aeefff3b410d10938928760b50a95c2c4b', 0);
CREATE TABLE withheld (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  archiver TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  purge INTEGER NOT NULL DEFAULT 0 CHECK (purge IN (0, 1)),
  PRIMARY KEY (version_hash, hash_type, archiver)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER withheld_not_queued BEFORE INSERT ON seen
WHEN EXISTS (SELECT 1 FROM withheld WHERE version_hash = NEW.version_hash)
BEGIN
  SELECT RAISE(IGNORE);
END;
CREATE TRIGGER withheld_not_held BEFORE INSERT ON content
WHEN EXISTS (SELECT 1 FROM withheld WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type)
BEGIN
  SELECT RAISE(IGNORE);
END;
CREATE TRIGGER withheld_not_placed BEFORE INSERT ON placement
WHEN EXISTS (SELECT 1 FROM content CROSS JOIN withheld ON withheld.version_hash = content.version_hash
  AND withheld.hash_type = content.hash_type WHERE content.sequence = NEW.sequence)
BEGIN
  SELECT RAISE(IGNORE);
END;
INSERT INTO migration VALUES (10, '0010_withheld.sql', 'e4f7651ae8e3843416a9823851714880e6e4a8aaac39c0eda95d102c7bf51a92', 0);
CREATE INDEX placement_damaged ON placement (backend_id, sequence) WHERE state = 2;
INSERT INTO migration VALUES (11, '0011_damaged.sql', '99db04dbf2908fb7fcfb400a6c39acb09caf47528485d680b3b50627b4d331fd', 0);
CREATE TABLE record_store (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  fill_height INTEGER,
  fill_index INTEGER,
  fill_until INTEGER
) STRICT;
CREATE TABLE record_task (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  store_id INTEGER NOT NULL REFERENCES record_store (id),
  PRIMARY KEY (height, transaction_index, store_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_task_by_store ON record_task (store_id, height, transaction_index);
CREATE TRIGGER unwritten_record_for_each_store AFTER INSERT ON unwritten_record
BEGIN
  INSERT INTO record_task (height, transaction_index, store_id)
  SELECT NEW.height, NEW.transaction_index, id FROM record_store WHERE true ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unwritten_record_is_gone AFTER DELETE ON unwritten_record
BEGIN
  DELETE FROM record_task WHERE height = OLD.height AND transaction_index = OLD.transaction_index;
END;
CREATE TABLE withdrawn_task (
  store_id INTEGER NOT NULL REFERENCES record_store (id),
  sequence INTEGER NOT NULL,
  PRIMARY KEY (store_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER withdrawn_for_each_store AFTER INSERT ON withdrawn_occurrence
BEGIN
  INSERT INTO withdrawn_task (store_id, sequence) SELECT id, NEW.sequence FROM record_store;
END;
INSERT INTO migration VALUES (12, '0012_record-tasks.sql', '63db13040b438dc72da38af6ac27b1031464935def92f6defb22831e2a7c7355', 0);
ALTER TABLE backend ADD COLUMN settle_ms INTEGER NOT NULL DEFAULT 0;
INSERT INTO migration VALUES (13, '0013_settling.sql', '4e6a8d0c8f8c981a851e89ab148ed30a6e2400093b1bd215826edbea6a2d6d63', 0);
CREATE TABLE custom (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  keccak BLOB NOT NULL CHECK (length(keccak) = 32),
  size_bytes INTEGER NOT NULL,
  kept_ms INTEGER NOT NULL,
  PRIMARY KEY (version_hash, keccak)
) STRICT, WITHOUT ROWID;
CREATE TABLE custom_copy (
  version_hash BLOB NOT NULL,
  keccak BLOB NOT NULL,
  backend TEXT NOT NULL,
  verified_ms INTEGER NOT NULL,
  PRIMARY KEY (backend, version_hash, keccak)
) STRICT, WITHOUT ROWID;
INSERT INTO migration VALUES (14, '0014_custom.sql', '602c20cd5c19b360fc24056174a775f19cbf8b2aa971f06a335e1f4ef545b09a', 0);
DROP INDEX seen_by_urgency;
DROP INDEX seen_due;
CREATE INDEX seen_mined ON seen (median_time_seconds, hash_type) WHERE hash_type IS NOT NULL AND next_attempt_ms <> 9007199254740991;
CREATE INDEX seen_listed ON seen (median_time_seconds) WHERE hash_type IS NULL AND next_attempt_ms <> 9007199254740991;
CREATE INDEX seen_resting ON seen (median_time_seconds, hash_type) WHERE next_attempt_ms = 9007199254740991;
INSERT INTO migration VALUES (15, '0015_queue-in-parts.sql', 'deab63161b638e6913300bb4bbf4ea8243c250622c16ee2226ae55eced7c650d', 0);
DROP INDEX occurrence_by_txid;
CREATE INDEX occurrence_by_txid ON occurrence (height >> 12, substr(txid, 1, 8));
INSERT INTO migration VALUES (16, '0016_transactions-by-stretch.sql', '344dc62cebc8de7fdfe842a2bad6ad7cdd2d2746786ed96a756214ce0a4e58a5', 0);
CREATE TABLE parted_node (
  name TEXT NOT NULL PRIMARY KEY,
  common_height INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO migration VALUES (17, '0017_parted-nodes.sql', '287f846374f90ec92343c911daf18c398046cf266602b8304897d37305bdf67d', 0);
CREATE TABLE custom_entry (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  keccak BLOB NOT NULL CHECK (length(keccak) = 32),
  size_bytes INTEGER NOT NULL,
  kept_ms INTEGER NOT NULL,
  is_held INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),
  UNIQUE (version_hash, keccak)
) STRICT;
CREATE TABLE custom_place (
  sequence INTEGER NOT NULL,
  backend TEXT NOT NULL,
  state INTEGER NOT NULL CHECK (state IN (1, 2)),
  verified_ms INTEGER,
  PRIMARY KEY (sequence, backend)
) STRICT, WITHOUT ROWID;
INSERT INTO custom_entry (version_hash, keccak, size_bytes, kept_ms, is_held)
  SELECT version_hash, keccak, size_bytes, kept_ms, 1 FROM custom ORDER BY kept_ms;
INSERT INTO custom_place SELECT sequence, backend, 1, verified_ms FROM custom_copy
  JOIN custom_entry USING (version_hash, keccak);
INSERT INTO custom_place SELECT sequence, 'local', 1, kept_ms FROM custom_entry;
DROP TABLE custom_copy;
DROP TABLE custom;
ALTER TABLE custom_entry RENAME TO custom;
ALTER TABLE custom_place RENAME TO custom_copy;
CREATE INDEX custom_damaged ON custom_copy (backend, sequence) WHERE state = 2;
CREATE TRIGGER withheld_not_custom BEFORE INSERT ON custom
WHEN EXISTS (SELECT 1 FROM withheld WHERE version_hash = NEW.version_hash)
BEGIN
  SELECT RAISE(IGNORE);
END;
INSERT INTO migration VALUES (18, '0018_custom-copies.sql', '6e7fd8ab89971b201d8976cb162f6d2798e0d8b20f1a894a844ea2b2ea86cb7c', 0);
ALTER TABLE backend ADD COLUMN place TEXT;
INSERT INTO migration VALUES (19, '0019_backend-places.sql', 'd32b2a8871bce55e1baa08b6846499387614fbe0982d1d173c5da74cbf0f76b1', 0);
ALTER TABLE walk ADD COLUMN called_final_height INTEGER;
UPDATE walk SET called_final_height = final_height;
INSERT INTO migration VALUES (20, '0020_called-final.sql', 'aa7271e95267ae84a4c57648caf545442b7fc6a8db1f58c5015fec39a63446d2', 0);
CREATE TABLE let_go_forgotten (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  newest_ms INTEGER NOT NULL
) STRICT;
DELETE FROM scrub_progress WHERE sequence = 0;
INSERT INTO migration VALUES (21, '0021_bounded-tables.sql', '7ff5b176ec543f30a128e3f670c70aa4497ddae2b246cd2336ccd9f07ad0b8c9', 0);
