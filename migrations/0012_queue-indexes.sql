-- Every row of the queue is in one of two, instead of most of them in two: what may be tried one day, and what rests for
-- good (past its deadline on the chain, and listed nowhere).
DROP INDEX seen_by_urgency;
CREATE INDEX seen_resting ON seen ((hash_type IS NULL), median_time_seconds) WHERE next_attempt_ms = 9007199254740991;
