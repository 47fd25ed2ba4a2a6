-- Blobs that nobody is to fetch until a list names them again (history past its deadline, dropped ones) can be a million;
-- the fetch queue must not read over them each time.
CREATE INDEX seen_due ON seen ((hash_type IS NULL), median_time_seconds) WHERE next_attempt_ms <> 9007199254740991;
