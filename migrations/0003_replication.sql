-- The queue of each backend, and what of it was looked at again.

-- 1: its copies count towards `stored`. A local store in cache mode is configured, and does not count.
ALTER TABLE backend ADD COLUMN counts INTEGER NOT NULL DEFAULT 1 CHECK (counts IN (0, 1));

-- 0: no backend but the local store is known to hold it yet; 1: some other one does. What is 0 goes first.
ALTER TABLE placement ADD COLUMN urgency INTEGER NOT NULL DEFAULT 0;
-- Median time of the content on the chain's clock: the nearest deadline goes first.
ALTER TABLE placement ADD COLUMN due_seconds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN next_attempt_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE placement ADD COLUMN last_error_code TEXT;
ALTER TABLE placement ADD COLUMN last_error TEXT;

DROP INDEX placement_wanted;
CREATE INDEX placement_queue ON placement (backend_id, urgency, due_seconds, sequence) WHERE state <> 1;

-- The backends and the number that `stored` was last computed for. Where it differs at a start, it is computed anew.
CREATE TABLE replication_basis (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  basis TEXT NOT NULL
) STRICT;

-- How far a reading of everything that a backend holds has come; goes on there after a stop.
CREATE TABLE scrub_progress (
  backend_id INTEGER NOT NULL REFERENCES backend (id),
  -- `daily`, or what a `check` was asked for.
  purpose TEXT NOT NULL,
  sequence INTEGER NOT NULL,
  changed_ms INTEGER NOT NULL,
  PRIMARY KEY (backend_id, purpose)
) STRICT, WITHOUT ROWID;
