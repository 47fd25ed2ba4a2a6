-- How long after it was read back a copy of this backend can still be lost with its power: it acknowledges before its
-- disk has the bytes (Kubo's flatfs without sync). Until then the last local copy stays.
ALTER TABLE backend ADD COLUMN settle_ms INTEGER NOT NULL DEFAULT 0;
