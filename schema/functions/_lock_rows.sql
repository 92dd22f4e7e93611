CREATE OR REPLACE FUNCTION howdah_internal._lock_rows(cache text) RETURNS howdah_internal.cache[]
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- Another one that changes the cache is waited for.
    RETURN (SELECT array_agg(l.c ORDER BY (l.c).partition)
            FROM (SELECT c FROM howdah_internal.cache AS c
                  WHERE c.name = _lock_rows.cache OR c.whole = _lock_rows.cache
                  ORDER BY c.partition FOR UPDATE) AS l);
END
$$;

COMMENT ON FUNCTION howdah_internal._lock_rows(text) IS
'Internal. Locks the settings of a cache, and returns them: of its partitions in their order.
NULL: there is no such cache.';

REVOKE ALL ON FUNCTION howdah_internal._lock_rows(text) FROM PUBLIC;
