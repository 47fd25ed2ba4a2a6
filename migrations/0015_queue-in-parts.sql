-- The fetch queue by its nearest deadline, in three parts that share no row: what a block of our branch has, what is only
-- listed, and what nobody is to fetch until a list names it again. Each blob then costs one entry instead of two, and
-- none of these holds an expression, for which SQLite would look into every row again.
DROP INDEX seen_by_urgency;
DROP INDEX seen_due;
CREATE INDEX seen_mined ON seen (median_time_seconds, hash_type) WHERE hash_type IS NOT NULL AND next_attempt_ms <> 9007199254740991;
CREATE INDEX seen_listed ON seen (median_time_seconds) WHERE hash_type IS NULL AND next_attempt_ms <> 9007199254740991;
CREATE INDEX seen_resting ON seen (median_time_seconds, hash_type) WHERE next_attempt_ms = 9007199254740991;
