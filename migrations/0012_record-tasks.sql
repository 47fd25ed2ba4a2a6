-- Each backend with names gets occurrence records, and loses withdrawn ones, at its own pace.

CREATE TABLE record_store (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  -- Occurrences of before it was configured are queued for it in the order of the chain, behind this place and up to
  -- that height; NULL: done.
  fill_height INTEGER,
  fill_index INTEGER,
  fill_until INTEGER
) STRICT;

-- That a store is to get the record of this occurrence. A row of unwritten_record stays as long as any store waits for it.
CREATE TABLE record_task (
  height INTEGER NOT NULL,
  transaction_index INTEGER NOT NULL,
  store_id INTEGER NOT NULL REFERENCES record_store (id),
  PRIMARY KEY (height, transaction_index, store_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX record_task_by_store ON record_task (store_id, height, transaction_index);

CREATE TRIGGER unwritten_record_for_each_store AFTER INSERT ON unwritten_record
BEGIN
  INSERT INTO record_task (height, transaction_index, store_id)
  SELECT NEW.height, NEW.transaction_index, id FROM record_store WHERE true ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER unwritten_record_is_gone AFTER DELETE ON unwritten_record
BEGIN
  DELETE FROM record_task WHERE height = OLD.height AND transaction_index = OLD.transaction_index;
END;

-- That a store is to lose the record of a withdrawn occurrence.
CREATE TABLE withdrawn_task (
  store_id INTEGER NOT NULL REFERENCES record_store (id),
  sequence INTEGER NOT NULL,
  PRIMARY KEY (store_id, sequence)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER withdrawn_for_each_store AFTER INSERT ON withdrawn_occurrence
BEGIN
  INSERT INTO withdrawn_task (store_id, sequence) SELECT id, NEW.sequence FROM record_store;
END;
