-- What is damaged or missing somewhere: few, and looked for often, behind very many that only wait for their turn.
CREATE INDEX placement_damaged ON placement (backend_id, sequence) WHERE state = 2;
