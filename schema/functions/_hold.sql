CREATE OR REPLACE FUNCTION howdah_internal._hold(settings howdah_internal.cache, hashes bigint[], keys bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    EXECUTE format($sql$
        INSERT INTO %s AS c (hash, version, expires_at, key, value)
        SELECT DISTINCT ON (i.hash) i.hash, howdah_internal._clock(), '-infinity', i.key, ''
        FROM unnest($1, $2) AS i (hash, key)
        ORDER BY i.hash
        ON CONFLICT (hash) DO UPDATE SET version = c.version WHERE false
        $sql$, howdah_internal._table(settings))
    USING hashes, keys;
END
$$;

COMMENT ON FUNCTION howdah_internal._hold(howdah_internal.cache, bigint[], bytea[]) IS
'Internal. Holds the places of keys until the transaction ends: whoever wants to
store or to claim one of them waits. A row that is there is locked as it is; where
there is none, an expired one is stored, which the caller then deletes. The others
wait for its place even so.';

REVOKE ALL ON FUNCTION howdah_internal._hold(howdah_internal.cache, bigint[], bytea[]) FROM PUBLIC;
