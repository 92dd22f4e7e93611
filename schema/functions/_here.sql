-- Citus is not there in most databases: PL/pgSQL looks for what it calls when it runs. With
-- the rights of the owner, which the lock needs: every name and operator has its schema,
-- because a fixed search_path would cost a fifth of the guard. IS DISTINCT FROM is none that
-- may stand here: it takes the caller's operator. VOLATILE, so that it looks with a snapshot
-- that is younger than the lock.
CREATE OR REPLACE FUNCTION howdah_internal._here(shard bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
AS $$
DECLARE
    number smallint;
BEGIN
    -- Nobody is to lock tables that are not Howdah's.
    SELECT c.partition INTO number FROM howdah_internal.cache AS c WHERE c.shard OPERATOR(pg_catalog.=) _here.shard;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no cache with the shard %.', shard
            USING ERRCODE = 'undefined_table', HINT = 'Read the settings of the cache again.';
    END IF;
    -- A snapshot that is older than the lock shows a place that the shard may have left. All
    -- shards of a partition move together.
    IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.<>) 'read committed'
       AND coalesce(pg_catalog.current_setting('howdah.held', true), '') OPERATOR(pg_catalog.<>) coalesce(number::pg_catalog.text, '') THEN
        RAISE EXCEPTION 'A partition that can move to another server is written in READ COMMITTED only.'
            USING ERRCODE = 'HW016', HINT = 'In Go, name the keys in TxOptions.';
    END IF;
    -- As Citus's own writers do; 5 is ShareLock.
    PERFORM pg_catalog.lock_shard_metadata(5, ARRAY[shard]);
    RETURN howdah_internal._present(shard);
END
$$;

COMMENT ON FUNCTION howdah_internal._here(bigint) IS
'Internal. Keeps a shard of a cache on this server until the transaction ends: whoever moves
it waits. HW099: it is on another server. HW016: in REPEATABLE READ and SERIALIZABLE, unless
howdah.held is the number of the partition: then another connection looks where it is.';

REVOKE ALL ON FUNCTION howdah_internal._here(bigint) FROM PUBLIC;
