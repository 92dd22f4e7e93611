CREATE OR REPLACE FUNCTION howdah_internal._bury(settings howdah_internal.cache, keys bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- A tombstone is an expired row without a lease: no reader sees it, and a claim
    -- of the key waits for whoever has locked it. Every change of a row changes its
    -- version, which voids the claims there were.
    bury   CONSTANT text := format($sql$
        INSERT INTO howdah_internal.%I AS c (hash, version, expires_at, key, value)
        SELECT u.hash, howdah_internal._clock(), '-infinity', u.key, ''
        FROM unnest($1, $2) AS u (hash, key)
        ORDER BY u.hash
        ON CONFLICT (hash) DO UPDATE
        SET version       = greatest(c.version + 1, excluded.version),
            expires_at    = excluded.expires_at,
            key           = excluded.key,
            value         = excluded.value,
            kind          = excluded.kind,
            stale_seconds = excluded.stale_seconds,
            leased_until  = excluded.leased_until
        -- Another key that lives in this place: no claim of ours can be stored there.
        WHERE c.key = excluded.key OR c.expires_at <= statement_timestamp()
        $sql$, 'cache_' || settings.id);
    -- Where there is a tombstone already, as for a key that is written often and read
    -- seldom, a lock that others share is enough: writers do not wait for each other.
    share  CONSTANT text := format($sql$
        WITH tombstone AS MATERIALIZED (
            SELECT FROM howdah_internal.%1$I AS t
            WHERE t.hash = $1 AND t.expires_at = '-infinity' AND t.leased_until = '-infinity'
            FOR SHARE
        )
        INSERT INTO howdah_internal.%1$I AS c (hash, version, expires_at, key, value)
        SELECT $1, howdah_internal._clock(), '-infinity', $2, ''
        WHERE NOT EXISTS (SELECT FROM tombstone)
        ON CONFLICT (hash) DO UPDATE
        SET version       = greatest(c.version + 1, excluded.version),
            expires_at    = excluded.expires_at,
            key           = excluded.key,
            value         = excluded.value,
            kind          = excluded.kind,
            stale_seconds = excluded.stale_seconds,
            leased_until  = excluded.leased_until
        WHERE c.key = excluded.key OR c.expires_at <= statement_timestamp()
        $sql$, 'cache_' || settings.id);
    hashes bigint[];
    sorted bytea[];
BEGIN
    -- The seed by a scalar subquery: see _key_hashes.
    SELECT array_agg(d.hash ORDER BY d.hash), array_agg(d.key ORDER BY d.hash) INTO hashes, sorted
    FROM (SELECT DISTINCT ON (h.hash) h.hash, h.key
          FROM (SELECT howdah_internal._hash((SELECT m.seed FROM howdah.meta AS m), k.key) AS hash, k.key
                FROM unnest(keys) AS k (key)) AS h
          ORDER BY h.hash) AS d;
    IF cardinality(hashes) <= 8 THEN
        FOR i IN 1 .. cardinality(hashes) LOOP
            EXECUTE share USING hashes[i], sorted[i];
        END LOOP;
    ELSIF cardinality(hashes) > 8 THEN
        EXECUTE bury USING hashes, sorted;
    ELSE
        RETURN;
    END IF;
    -- All of them: memory may hold what was evicted here.
    PERFORM howdah_internal._log(settings, hashes);
END
$$;

COMMENT ON FUNCTION howdah_internal._bury(howdah_internal.cache, bytea[]) IS
'Internal. Puts tombstones in the place of keys, in the order of their hashes. They
stay locked until the transaction ends; upkeep removes them later.';

REVOKE ALL ON FUNCTION howdah_internal._bury(howdah_internal.cache, bytea[]) FROM PUBLIC;
