-- Height of the highest block of the branch that any rule called final: up to it records may have been written, which a
-- reorganisation has to withdraw also when the rule is another one by then.
ALTER TABLE walk ADD COLUMN called_final_height INTEGER;
UPDATE walk SET called_final_height = final_height;
