-- Citus is not there in most databases: PL/pgSQL looks for what it calls when it runs. With
-- the rights of the owner, which the lock needs: hence the fixed search_path. VOLATILE, so
-- that it looks with a snapshot that is younger than the lock.
CREATE OR REPLACE FUNCTION howdah_internal._here(shard bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM howdah_internal.cache AS c WHERE c.shard = _here.shard) THEN
        RAISE EXCEPTION 'There is no cache with the shard %.', shard
            USING ERRCODE = 'HW099', HINT = 'Read the settings of the cache again.';
    END IF;
    PERFORM lock_shard_metadata(5, ARRAY[shard]);  -- ShareLock, as Citus's own writers take
    RETURN howdah_internal._present(shard);
END
$$;

COMMENT ON FUNCTION howdah_internal._here(bigint) IS
'Internal. Keeps a shard of a cache on this server until the transaction ends: whoever moves
it waits. HW099: it is on another server. In REPEATABLE READ the answer may be out of date.';

REVOKE ALL ON FUNCTION howdah_internal._here(bigint) FROM PUBLIC;
