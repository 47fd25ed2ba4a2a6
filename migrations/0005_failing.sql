-- Blobs that were asked for in vain: few, and looked for on their own, so that they hold up no others.
CREATE INDEX seen_failing ON seen ((hash_type IS NULL), median_time_seconds) WHERE attempts > 0;
