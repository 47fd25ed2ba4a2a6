-- Which configured nodes were last seen on another branch than ours, and up to where they agree: after a restart one that
-- does not answer has not changed its mind.
CREATE TABLE parted_node (
  name TEXT NOT NULL PRIMARY KEY,
  common_height INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
