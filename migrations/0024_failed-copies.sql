-- Copies that failed at a backend wait apart from the others, so that many of them keep nothing else from its turn.
CREATE INDEX placement_failed ON placement (backend_id, next_attempt_ms, sequence) WHERE state <> 1 AND attempts > 0;
