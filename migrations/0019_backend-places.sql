-- Where the backend's bytes lie: server, bucket and path, without secrets. Under the same name at another place it is
-- another backend: what was proven at the first proves nothing of the second. NULL: from before this was recorded.
ALTER TABLE backend ADD COLUMN place TEXT;
