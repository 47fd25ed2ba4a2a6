-- What a block of our branch has is queued as such, however it came into the queue and whatever came first: by its hash
-- type, and with the time of its newest block. No code has to remember that. Without it neither lateness, nor the search
-- for losses, nor the question up to where everything is stored would see the row.
CREATE TRIGGER queued_on_chain AFTER INSERT ON seen
WHEN NEW.hash_type IS NULL AND EXISTS (SELECT 1 FROM occurrence WHERE version_hash = NEW.version_hash)
BEGIN
  UPDATE seen SET
    hash_type = (SELECT hash_type FROM occurrence WHERE version_hash = NEW.version_hash LIMIT 1),
    median_time_seconds = MAX(median_time_seconds, COALESCE((SELECT block.median_time_seconds FROM block
      WHERE height = (SELECT MAX(height) FROM occurrence WHERE version_hash = NEW.version_hash)), 0))
  WHERE version_hash = NEW.version_hash;
END;
-- Of what no block had, a list only supposed the time.
CREATE TRIGGER mined_while_queued AFTER INSERT ON occurrence
BEGIN
  UPDATE seen SET
    median_time_seconds = COALESCE((SELECT CASE WHEN seen.hash_type IS NULL THEN block.median_time_seconds
      ELSE MAX(seen.median_time_seconds, block.median_time_seconds) END FROM block WHERE block.height = NEW.height), median_time_seconds),
    hash_type = NEW.hash_type
  WHERE version_hash = NEW.version_hash;
END;

UPDATE seen SET
  hash_type = (SELECT hash_type FROM occurrence WHERE occurrence.version_hash = seen.version_hash LIMIT 1),
  median_time_seconds = MAX(median_time_seconds, COALESCE((SELECT block.median_time_seconds FROM block
    WHERE height = (SELECT MAX(height) FROM occurrence WHERE occurrence.version_hash = seen.version_hash)), 0))
WHERE hash_type IS NULL AND EXISTS (SELECT 1 FROM occurrence WHERE occurrence.version_hash = seen.version_hash);
