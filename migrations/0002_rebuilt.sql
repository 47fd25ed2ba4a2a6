-- One row: the folder's blobs are all in this catalog. Without it the catalog is new, or its making was interrupted, and
-- what it does not know may still lie in the folder.
CREATE TABLE rebuilt (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  finished_ms INTEGER NOT NULL
) STRICT;

-- Catalogs from before this migration hold everything that they were made with.
INSERT INTO rebuilt (only, finished_ms) SELECT 1, 0 WHERE EXISTS (SELECT 1 FROM content);
