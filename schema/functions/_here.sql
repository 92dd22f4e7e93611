-- Citus is not there in most databases: PL/pgSQL looks for what it calls when it runs. With
-- the rights of the owner, which the lock needs: every name and operator has its schema,
-- because a fixed search_path would cost a fifth of the guard. VOLATILE, so that it looks
-- with a snapshot that is younger than the lock.
CREATE OR REPLACE FUNCTION howdah_internal._here(shard bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
AS $$
BEGIN
    -- Nobody is to lock tables that are not Howdah's.
    IF NOT EXISTS (SELECT FROM howdah_internal.cache AS c WHERE c.shard OPERATOR(pg_catalog.=) _here.shard) THEN
        RAISE EXCEPTION 'There is no cache with the shard %.', shard
            USING ERRCODE = 'undefined_table', HINT = 'Read the settings of the cache again.';
    END IF;
    -- As Citus's own writers do; 5 is ShareLock.
    PERFORM pg_catalog.lock_shard_metadata(5, ARRAY[shard]);
    RETURN howdah_internal._present(shard);
END
$$;

COMMENT ON FUNCTION howdah_internal._here(bigint) IS
'Internal. Keeps a shard of a cache on this server until the transaction ends: whoever moves
it waits. HW099: it is on another server. In REPEATABLE READ the answer may be out of date.';

REVOKE ALL ON FUNCTION howdah_internal._here(bigint) FROM PUBLIC;
