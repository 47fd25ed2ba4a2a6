-- Names of free spam that was let go are kept for the newest; of the others, that there were so many.
CREATE TABLE let_go_forgotten (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  -- When the newest of them was let go.
  newest_ms INTEGER NOT NULL
) STRICT;

-- Readings that are over begin anew all the same.
DELETE FROM scrub_progress WHERE sequence = 0;
