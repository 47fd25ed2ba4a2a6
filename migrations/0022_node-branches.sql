-- What each configured node last said of its branch, so that a node that does not answer has not changed its mind, also
-- after a restart or when another node is followed.
CREATE TABLE node_branch (
  name TEXT NOT NULL PRIMARY KEY,
  -- Highest block of our branch that the node is known to have.
  common_height INTEGER NOT NULL,
  -- 1: above that block the node has others than we do.
  is_forked INTEGER NOT NULL CHECK (is_forked IN (0, 1))
) STRICT, WITHOUT ROWID;

INSERT INTO node_branch (name, common_height, is_forked) SELECT name, common_height, 1 FROM parted_node;
DROP TABLE parted_node;
