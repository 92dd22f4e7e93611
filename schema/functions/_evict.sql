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
'Internal. Asked by a write that meets another live key in the slot of its hash:
true lets it take the slot; class sync raises HW010. Volatile, so that it is
called only when the collision is there.';

REVOKE ALL ON FUNCTION howdah_internal._evict(text) FROM PUBLIC;
