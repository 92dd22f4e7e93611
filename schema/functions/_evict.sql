CREATE OR REPLACE FUNCTION howdah_internal._evict(durability text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF durability = 'sync' THEN
        RAISE EXCEPTION 'Another live key has the same hash, and a cache of class sync evicts nothing.'
            USING ERRCODE = 'HW010', HINT = 'Use another key, or delete the other one.';
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION howdah_internal._evict(text) IS
'Internal. Asked for a write that has met another live key in the slot of its hash:
true lets it take the slot; class sync raises HW010. Writes ask it after their statement, not in it,
so that the error does not carry the text of the statement.';

REVOKE ALL ON FUNCTION howdah_internal._evict(text) FROM PUBLIC;
