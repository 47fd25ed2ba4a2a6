-- Transaction ids are random: in one index of all of them each new one falls on a page of its own, which is read, logged
-- and written back for it alone. By stretches of 4,096 blocks it falls among those of the last days, whose pages are in
-- memory; a look-up asks one stretch after the other, newest first. Eight bytes of an id are enough to find it by.
DROP INDEX occurrence_by_txid;
CREATE INDEX occurrence_by_txid ON occurrence (height >> 12, substr(txid, 1, 8));
