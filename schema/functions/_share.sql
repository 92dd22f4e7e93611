CREATE OR REPLACE FUNCTION howdah_internal._share(settings howdah_internal.cache, hash bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    shared boolean;
BEGIN
    EXECUTE format($sql$
        SELECT true FROM %s AS t
        WHERE t.hash = $1 AND t.expires_at = '-infinity' AND t.leased_until = '-infinity' FOR SHARE
        $sql$, howdah_internal._table(settings))
    INTO STRICT shared
    USING hash;
    RETURN true;
EXCEPTION
    -- A row that ceased to be a tombstone while we waited is locked all the same. That
    -- lock goes with the savepoint: of two that have it, neither could change the row.
    WHEN no_data_found OR undefined_table THEN
        RETURN false;
END
$$;

COMMENT ON FUNCTION howdah_internal._share(howdah_internal.cache, bigint) IS
'Internal. Locks a tombstone until the transaction ends, with a lock that others share:
where there is one already, as for a key that is written often and read seldom, writers
do not wait for each other. A claim waits for all of them.

Returns false, and holds no lock, if there is no tombstone or no table.';

REVOKE ALL ON FUNCTION howdah_internal._share(howdah_internal.cache, bigint) FROM PUBLIC;
