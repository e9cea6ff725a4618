-- Stops the claims of the product between statements that travel in one round trip: in sessions that have cleanup.gated, the n-th
-- look passes gate 2n-1 when the INSERT has its snapshot and has inserted nothing, and gate 2n when it is over. A gate is shut
-- while somebody holds the advisory lock of its number.

CREATE SEQUENCE cleanup.gates_passed;

CREATE FUNCTION cleanup.pass_gate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gate bigint;
BEGIN
    IF current_setting('cleanup.gated', true) = 'on' THEN
        gate := nextval('cleanup.gates_passed');
        PERFORM pg_advisory_lock_shared(gate);
        PERFORM pg_advisory_unlock_shared(gate);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER gate_before_the_insert
BEFORE INSERT ON idem.keys
FOR EACH STATEMENT EXECUTE FUNCTION cleanup.pass_gate();

CREATE TRIGGER gate_after_the_insert
AFTER INSERT ON idem.keys
FOR EACH STATEMENT EXECUTE FUNCTION cleanup.pass_gate();
