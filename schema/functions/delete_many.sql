CREATE OR REPLACE FUNCTION howdah.delete_many(cache text, keys bytea[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings_many(cache, keys));
    hashes   bigint[];
    deleted  bigint;
    gone     bytea[];  -- the keys that were there, if anybody is told of them
BEGIN
    IF settings.id IS NULL THEN  -- several partitions, in the order of every function on many keys
        RETURN (SELECT coalesce(sum(howdah.delete_many(s.part, s.keys_of_it)), 0) FROM howdah_internal._split(cache, keys) AS s);
    END IF;
    hashes := howdah_internal._key_hashes(keys);
    -- What this transaction is changing, nobody may load and store before it ends:
    -- the places of absent keys are held too. Locks first, by hash: the order of
    -- every statement on many rows.
    PERFORM howdah_internal._hold(settings, hashes, keys);
    EXECUTE format($sql$
        WITH gone AS (
            DELETE FROM %1$s AS c
            WHERE c.hash = ANY ($1) AND c.key = ANY ($2)
            RETURNING c.hash, c.key, c.expires_at > statement_timestamp() AS live
        )
        SELECT array_agg(g.hash), count(*), array_agg(g.key) FILTER (WHERE $3) FROM gone AS g WHERE g.live
        $sql$, howdah_internal._table(settings))
    INTO hashes, deleted, gone
    USING hashes, keys, settings.events OR 'log_keys' = ANY (settings.features);
    PERFORM howdah_internal._log(settings, coalesce(hashes, '{}'), gone);
    PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'del', gone) WHERE settings.events AND gone IS NOT NULL;
    RETURN deleted;
END
$$;

COMMENT ON FUNCTION howdah.delete_many(text, bytea[]) IS
'Removes many keys, all or none, and the rows of expired entries with them. Until the
transaction ends, no other one can store or claim the keys.

cache: the name of a cache.
keys: each at most 65536 bytes; none NULL. NULL or an empty array: no keys.

Returns how many of them existed; expired entries do not.
Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.delete_many(text, bytea[]) FROM PUBLIC;
