-- When each scheduled task last began and last ended well: what was missed while nothing ran is done after the start.
CREATE TABLE task_run (
  task TEXT NOT NULL PRIMARY KEY,
  begun_ms INTEGER NOT NULL,
  succeeded_ms INTEGER,
  outcome TEXT NOT NULL CHECK (outcome IN ('never', 'running', 'succeeded', 'failed', 'interrupted'))
) STRICT, WITHOUT ROWID;
