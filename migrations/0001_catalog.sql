-- The catalog: a cache with work queues in it. Losing it costs time, never data.
-- Hash types: 1 keccak256, 2 blake2s256. Times: *_ms are milliseconds since 1970; median_time_seconds is the chain's clock.

-- The fetch queue: blobs that a node listed or a block commits to, and whose bytes are not here yet.
CREATE TABLE seen (
  version_hash BLOB NOT NULL PRIMARY KEY CHECK (length(version_hash) = 32),
  size_bytes INTEGER NOT NULL,
  txid BLOB CHECK (length(txid) = 32),
  -- The node may prune the blob when the chain's clock has passed this time by the retention.
  median_time_seconds INTEGER NOT NULL,
  first_seen_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  -- NULL: the row rests until a list names the blob again.
  next_attempt_ms INTEGER DEFAULT 0,
  last_error_code TEXT,
  last_error TEXT,
  -- The hash type that a block of the archive's branch states. NULL: no such block has the blob, and the row is served last.
  hash_type INTEGER,
  -- 0: no list has named the blob, and size_bytes is an upper bound.
  size_known INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;

-- The fetch queue by its nearest deadline, in three parts that share no row: mined, listed only, and resting. Each blob then
-- costs one entry, and none of these indexes holds an expression, for which SQLite would read every row again.
CREATE INDEX seen_mined ON seen (median_time_seconds, hash_type) WHERE hash_type IS NOT NULL AND next_attempt_ms IS NOT NULL;
CREATE INDEX seen_listed ON seen (median_time_seconds) WHERE hash_type IS NULL AND next_attempt_ms IS NOT NULL;
CREATE INDEX seen_resting ON seen (median_time_seconds, hash_type) WHERE next_attempt_ms IS NULL;
-- Blobs whose fetch failed: few, and served on their own, so that they hold up no others.
CREATE INDEX seen_failing ON seen ((hash_type IS NULL), median_time_seconds) WHERE attempts > 0;
-- By when the next is tried: of those that failed, and of those that wait for their size or their senders.
CREATE INDEX seen_again ON seen (next_attempt_ms) WHERE next_attempt_ms > 0;

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
  -- 1: a list named the blob, and no walked block has it. 0: a block had it once, or that is not known.
  unmined INTEGER NOT NULL DEFAULT 0 CHECK (unmined IN (0, 1)),
  -- The peer that gave the bytes. NULL: a node, or a backend of this archive.
  given_by TEXT,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;

-- Blobs that are durable here, and not yet on as many backends as are required: an alarm counts them by age.
CREATE INDEX content_unstored ON content (median_time_seconds, unmined) WHERE state = 1;
CREATE INDEX content_unmined ON content (median_time_seconds) WHERE unmined = 1;

CREATE TABLE backend (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- 1: the backend is configured now. Only such backends count towards `stored`.
  configured INTEGER NOT NULL DEFAULT 0 CHECK (configured IN (0, 1)),
  -- 1: its copies count towards `stored`. A local store in cache mode is configured, and does not count.
  counts INTEGER NOT NULL DEFAULT 1 CHECK (counts IN (0, 1)),
  -- Milliseconds after a copy was read back during which a power failure of the backend can still lose it (Kubo's flatfs
  -- without sync). The last local copy stays that long. 0: the backend syncs before it acknowledges.
  durability_delay_ms INTEGER NOT NULL DEFAULT 0,
  -- The place of the backend's bytes: server, bucket and path, without secrets. The same name at another place is another
  -- backend: a proof at the first place proves nothing of the second.
  place TEXT,
  -- 1: it has names, and gets every record and every piece of evidence (`copy`).
  gets_documents INTEGER NOT NULL DEFAULT 0 CHECK (gets_documents IN (0, 1)),
  -- 1: the evidence that lay there before this catalog began was taken over.
  gave_evidence INTEGER NOT NULL DEFAULT 0 CHECK (gave_evidence IN (0, 1)),
  -- A stretch of the chain of which it is to get all records: they are queued in the order of the chain, behind this number
  -- of a record and up to that height. NULL: there is none.
  fill_after INTEGER,
  fill_until INTEGER
) STRICT;

-- Objects on backends, each copy one row: what a backend is to hold of an object, or to lose, and what was proven of it.
CREATE TABLE copy (
  backend_id INTEGER NOT NULL REFERENCES backend (id),
  -- 1 evidence, 2 the record of an occurrence that was withdrawn, 3 the record of an occurrence, 4 custom bytes, 5 a blob.
  kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 5),
  -- The object's number in the table of its kind, in the order of creation: `evidence.sequence`, `custom.sequence`,
  -- `withdrawn_occurrence.sequence`, `content.sequence`, and of a record 2^20 times the height and the place in the block.
  object INTEGER NOT NULL,
  -- 0 wanted, 1 good (fetched back and verified), 2 damaged or missing, 3 unwanted: to be deleted. A document that is good
  -- has no row, for there are very many, and its own table says that there is one; blobs and custom bytes have, for what is
  -- stored and held follows from it.
  state INTEGER NOT NULL CHECK (state IN (0, 1, 2, 3)),
  -- When it was read back whole.
  verified_ms INTEGER,
  -- The urgency of a blob's copy. 0: only the local store is known to hold the blob; 1: some other backend does. Rows with 0 are served first.
  urgency INTEGER NOT NULL DEFAULT 0,
  -- The median time of a blob on the chain's clock: the nearest deadline is served first.
  due_seconds INTEGER NOT NULL DEFAULT 0,
  -- Failed attempts, the time of the next one, and the reason of the last failure.
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_ms INTEGER NOT NULL DEFAULT 0,
  last_error_code TEXT,
  last_error TEXT,
  PRIMARY KEY (backend_id, kind, object)
) STRICT, WITHOUT ROWID;
-- A backend refuses few objects other than blobs, and they are counted often; so are custom bytes that are not good.
CREATE INDEX copy_refused ON copy (backend_id, kind, object) WHERE attempts > 0 AND kind < 5;
CREATE INDEX copy_custom ON copy (backend_id, object, state) WHERE kind = 4 AND state <> 1;
-- Blobs that have failed lie apart: very many of them that rest are not read through on the way to the others.
CREATE INDEX copy_queue ON copy (backend_id, (attempts > 0), urgency, due_seconds, object) WHERE kind = 5 AND state <> 1;
-- Blobs that failed at a backend wait apart from the others, so that many of them keep nothing else from its turn.
CREATE INDEX copy_failed ON copy (backend_id, next_attempt_ms, object) WHERE kind = 5 AND state <> 1 AND attempts > 0;
-- Damaged or missing blobs: few, and looked for often, behind very many that only wait for their turn.
CREATE INDEX copy_damaged ON copy (backend_id, next_attempt_ms, object) WHERE kind = 5 AND state = 2;

-- Facts about the archive as a whole, and the progress of its work, one row each, as JSON: small and few.
-- `rebuilt`: the folder's blobs are all in this catalog. Without it the catalog is new, or its making was interrupted, and
--   blobs that the catalog does not know may still lie in the folder.
-- `replication`: the backends and the number that `stored` was last computed for. A start with others computes it again.
-- `walk`: where the walk began for good, fixed at the very first start, and the highest block that was final by the rule
--   `finality`: every recorded block below it is its ancestor, and under another rule it counts no more. `calledFinalHeight` is
--   the highest block of the branch that any rule called final: up to it records may have been written, which a reorganisation
--   has to withdraw also when the rule is another one by then.
-- `scrub/<backend_id>/<purpose>`: how far a reading of everything that a backend holds has come; it goes on there after a
--   stop. The purpose is `daily`, or what a `check` was asked for.
-- `node-branches`: what each configured node last said of its branch: a node that does not answer has not changed its mind,
--   also after a restart or when another node is followed.
-- `recorded-floor`: lowest height of which an occurrence record lies on a backend or in the data folder: a catalog that was
--   made again is walked down to it, wherever the walk began.
-- `evicted-unmined-forgotten`: `evicted_unmined` keeps the newest rows; this counts the older ones that were deleted.
-- `left-out`: how many blobs the operator's rule leaves out, and since when any.
-- `archive-rule/<id>`: a rule of the operator in a sentence, as very many rows of `left_out` name it.
-- `peer-statement/<number>`: a signed statement of another archiver, to be compared with later ones: the newest 256.
-- `task/<name>`: when a scheduled task last began and last ended well: what was missed while nothing ran is done after the
--   start.
-- `alert/<subject>`: what the receiver of alerts (HOLDFAST_ALERT_URL) was told last of each subject that a condition stood
--   for. What stands and differs from this is still to be told.
-- `subscription/<id>`: a receiver that is to be told once, by a webhook, when a version hash is final; gone when the webhook took
--   the notice.
-- `contents/<state>`: how many rows of `content` are in a state, and the bytes of their blobs: counting them at each start
--   would read the whole table. The triggers below alone write it, in the transaction of the change.
CREATE TABLE fact (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO fact (name, value) SELECT 'contents/' || value, '{"count":0,"bytes":0}' FROM json_each('[0, 1, 2]');

CREATE TRIGGER content_counted AFTER INSERT ON content
BEGIN
  UPDATE fact SET value = json_object('count', value ->> 'count' + 1, 'bytes', value ->> 'bytes' + NEW.size_bytes)
  WHERE name = 'contents/' || NEW.state;
END;
CREATE TRIGGER content_counted_again AFTER UPDATE OF state, size_bytes ON content
BEGIN
  UPDATE fact SET value = json_object('count', value ->> 'count' - 1, 'bytes', value ->> 'bytes' - OLD.size_bytes)
  WHERE name = 'contents/' || OLD.state;
  UPDATE fact SET value = json_object('count', value ->> 'count' + 1, 'bytes', value ->> 'bytes' + NEW.size_bytes)
  WHERE name = 'contents/' || NEW.state;
END;
CREATE TRIGGER content_not_counted AFTER DELETE ON content
BEGIN
  UPDATE fact SET value = json_object('count', value ->> 'count' - 1, 'bytes', value ->> 'bytes' - OLD.size_bytes)
  WHERE name = 'contents/' || OLD.state;
END;

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
  -- Scripts of the outputs that its transaction spends: hex, with commas between them. NULL: unknown.
  senders TEXT,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;

CREATE INDEX occurrence_by_content ON occurrence (version_hash, hash_type, height, transaction_index);
-- Transaction ids are random: in one index of all of them each new one dirties a page of its own. By stretches of 4,096
-- blocks it falls among those of the last days, whose pages are in memory; a look-up asks one stretch after the other,
-- newest first. Eight bytes of an id are enough to find it by.
CREATE INDEX occurrence_by_txid ON occurrence (height >> 12, substr(txid, 1, 8));

-- A blob that a block of our branch has is queued by its hash type, and with the time of its newest block, however it came
-- into the queue. Without that neither lateness, nor the search for losses, nor `/lastblock` would see the row.
CREATE TRIGGER queued_on_chain AFTER INSERT ON seen
WHEN NEW.hash_type IS NULL AND EXISTS (SELECT 1 FROM occurrence WHERE version_hash = NEW.version_hash)
BEGIN
  UPDATE seen SET
    hash_type = (SELECT hash_type FROM occurrence WHERE version_hash = NEW.version_hash LIMIT 1),
    median_time_seconds = MAX(median_time_seconds, COALESCE((SELECT block.median_time_seconds FROM block
      WHERE height = (SELECT MAX(height) FROM occurrence WHERE version_hash = NEW.version_hash)), 0))
  WHERE version_hash = NEW.version_hash;
END;
-- The time of a blob that no block had was only supposed by a list.
CREATE TRIGGER mined_while_queued AFTER INSERT ON occurrence
BEGIN
  UPDATE seen SET
    median_time_seconds = COALESCE((SELECT CASE WHEN seen.hash_type IS NULL THEN block.median_time_seconds
      ELSE MAX(seen.median_time_seconds, block.median_time_seconds) END FROM block WHERE block.height = NEW.height), median_time_seconds),
    hash_type = NEW.hash_type
  WHERE version_hash = NEW.version_hash;
END;

-- Transactions of version 137 whose content is not plain: an alarm names them, and nothing is guessed.
CREATE TABLE unclear_transaction (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  txid BLOB NOT NULL CHECK (length(txid) = 32),
  candidates INTEGER NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;

-- Occurrence records that are made and not on every backend yet: JSON, lacking the size of the content. A row stays as long
-- as any backend waits for it.
CREATE TABLE unwritten_record (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  record TEXT NOT NULL,
  PRIMARY KEY (height, transaction_index)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER unwritten_record_is_gone AFTER DELETE ON unwritten_record
BEGIN
  DELETE FROM copy WHERE backend_id IN (SELECT id FROM backend) AND kind = 3
    AND object = (OLD.height << 20) + OLD.transaction_index;
END;

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
  -- The chain's own time then: the median time of the tip that was left.
  withdrawn_seconds INTEGER NOT NULL
) STRICT;
CREATE INDEX withdrawn_by_height ON withdrawn_occurrence (height);
CREATE INDEX withdrawn_by_time ON withdrawn_occurrence (withdrawn_seconds);

-- Content that every source answered it has not got, after the deadline; that is said of occurrences up to `up_to_height`.
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
  -- NULL: the bytes turned up.
  revoked_because TEXT,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;
CREATE INDEX lost_revoked ON lost (version_hash) WHERE revoked_ms IS NOT NULL;

-- However bytes turn up, the loss is revoked in the same commit.
CREATE TRIGGER lost_turned_up AFTER UPDATE OF state ON content WHEN NEW.state > 0
BEGIN
  UPDATE lost SET revoked_ms = unixepoch() * 1000 WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type AND revoked_ms IS NULL;
END;
CREATE TRIGGER lost_turned_up_anew AFTER INSERT ON content WHEN NEW.state > 0
BEGIN
  UPDATE lost SET revoked_ms = unixepoch() * 1000 WHERE version_hash = NEW.version_hash AND hash_type = NEW.hash_type AND revoked_ms IS NULL;
END;

-- Evidence exists nowhere else, so every backend with names gets the latest state of each document, in the order of change.
-- A path is below audit/<archiver id>/.
CREATE TABLE evidence (
  path TEXT NOT NULL PRIMARY KEY,
  document TEXT NOT NULL,
  -- Grows with every change of any document: a later state is another object, and the earlier one is brought nowhere.
  sequence INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

CREATE TRIGGER evidence_to_each_backend AFTER INSERT ON evidence
BEGIN
  INSERT INTO copy (backend_id, kind, object, state) SELECT id, 1, NEW.sequence, 0 FROM backend WHERE gets_documents = 1;
END;
CREATE TRIGGER evidence_changed AFTER UPDATE OF sequence ON evidence
BEGIN
  DELETE FROM copy WHERE backend_id IN (SELECT id FROM backend) AND kind = 1 AND object = OLD.sequence;
  INSERT INTO copy (backend_id, kind, object, state) SELECT id, 1, NEW.sequence, 0 FROM backend WHERE gets_documents = 1;
END;
CREATE TRIGGER evidence_is_gone AFTER DELETE ON evidence
BEGIN
  DELETE FROM copy WHERE backend_id IN (SELECT id FROM backend) AND kind = 1 AND object = OLD.sequence;
END;

-- Bytes of transactions that were never mined, which the local store evicted: free spam must not fill backends that never
-- forget. They are fetched again when a block has them.
CREATE TABLE evicted_unmined (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  -- The sequence that the content had: listing cursors name it, so that it is never given again.
  sequence INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  txid BLOB,
  median_time_seconds INTEGER,
  evicted_ms INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('expired', 'no-room')),
  -- When the bytes came again.
  returned_ms INTEGER,
  PRIMARY KEY (version_hash, hash_type)
) STRICT, WITHOUT ROWID;
CREATE INDEX evicted_unmined_by_sequence ON evicted_unmined (sequence);

-- Take-downs: those of this archive's operator, and those of other archivers whose records lie on its backends.
CREATE TABLE withheld (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  -- Whose record says so: an archiver id, or `file` for the list that the operator configured.
  archiver TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- The reason that is told to every client that asks for the blob; NULL: none. `reason` is told to operators alone.
  public_reason TEXT,
  at_ms INTEGER NOT NULL,
  -- 1: its bytes are deleted wherever that is allowed.
  purge INTEGER NOT NULL DEFAULT 0 CHECK (purge IN (0, 1)),
  PRIMARY KEY (version_hash, hash_type, archiver)
) STRICT, WITHOUT ROWID;

-- Blobs that a rule of the operator left out: not asked for, not held, and neither missing nor lost. A name is here or in
-- `content` and `seen`, never in both.
CREATE TABLE left_out (
  version_hash BLOB NOT NULL PRIMARY KEY CHECK (length(version_hash) = 32),
  -- NULL: no list named it, and the rule left it out by its name.
  size_bytes INTEGER,
  txid BLOB CHECK (length(txid) = 32),
  median_time_seconds INTEGER NOT NULL,
  since_ms INTEGER NOT NULL,
  -- The rule that was in force: the fact `archive-rule/<rule_id>`.
  rule_id INTEGER NOT NULL,
  -- 1: no block that was walked has it. Free spam is forgotten.
  unmined INTEGER NOT NULL CHECK (unmined IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX left_out_unmined ON left_out (median_time_seconds) WHERE unmined = 1;

-- What is left out is not queued, wherever its name comes from.
CREATE TRIGGER left_out_not_queued BEFORE INSERT ON seen
WHEN EXISTS (SELECT 1 FROM left_out WHERE version_hash = NEW.version_hash)
BEGIN
  SELECT RAISE(IGNORE);
END;

-- Bytes that match neither hash of what the chain commits to (dialect svc alone allows that): kept apart, under the hash
-- that they do have. No row here makes content held, stored or found.
CREATE TABLE custom (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  keccak BLOB NOT NULL CHECK (length(keccak) = 32),
  size_bytes INTEGER NOT NULL,
  kept_ms INTEGER NOT NULL,
  -- 1: some place that is configured is proven to hold the bytes. Follows from `copy`.
  is_held INTEGER NOT NULL DEFAULT 0 CHECK (is_held IN (0, 1)),
  UNIQUE (version_hash, keccak)
) STRICT;

CREATE TRIGGER custom_is_gone AFTER DELETE ON custom
BEGIN
  DELETE FROM copy WHERE backend_id IN (SELECT id FROM backend) AND kind = 4 AND object = OLD.sequence;
END;

-- Withheld content is neither queued, nor held, nor placed, nor kept as custom bytes, wherever it comes from (a list, a
-- block, a listing, a rebuild, a new backend): its row is passed over as if it were there already.
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
CREATE TRIGGER withheld_not_placed BEFORE INSERT ON copy
WHEN NEW.kind = 5 AND EXISTS (SELECT 1 FROM content CROSS JOIN withheld ON withheld.version_hash = content.version_hash
  AND withheld.hash_type = content.hash_type WHERE content.sequence = NEW.object)
BEGIN
  SELECT RAISE(IGNORE);
END;
CREATE TRIGGER withheld_not_custom BEFORE INSERT ON custom
WHEN EXISTS (SELECT 1 FROM withheld WHERE version_hash = NEW.version_hash)
BEGIN
  SELECT RAISE(IGNORE);
END;
