-- What an operator took down: this archive's own, and those of other archivers whose records lie on its backends.
CREATE TABLE withheld (
  version_hash BLOB NOT NULL CHECK (length(version_hash) = 32),
  hash_type INTEGER NOT NULL CHECK (hash_type IN (1, 2)),
  -- Whose record says so: an archiver id, or `file` for the list that the operator configured.
  archiver TEXT NOT NULL,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  -- 1: its bytes are deleted wherever that is allowed.
  purge INTEGER NOT NULL DEFAULT 0 CHECK (purge IN (0, 1)),
  PRIMARY KEY (version_hash, hash_type, archiver)
) STRICT, WITHOUT ROWID;

-- However it comes about (a list, a block, a listing, a rebuild, a new backend): what is withheld is neither queued, nor
-- held, nor placed. No code has to remember that; the row is passed over as if it were there already.
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
