CREATE OR REPLACE FUNCTION howdah_internal._bury(settings howdah_internal.cache, keys bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl    CONSTANT text := format('howdah_internal.%I', 'cache_' || settings.id);
    upsert CONSTANT text := $sql$
        ON CONFLICT (hash) DO UPDATE
        SET version       = greatest(c.version + 1, excluded.version),
            expires_at    = excluded.expires_at,
            key           = excluded.key,
            value         = excluded.value,
            kind          = excluded.kind,
            stale_seconds = excluded.stale_seconds,
            leased_until  = excluded.leased_until
        -- Another key that lives in this place: no claim of ours can be stored there.
        WHERE c.key = excluded.key OR c.expires_at <= statement_timestamp()$sql$;
    hashes bigint[];
    sorted bytea[];
    shared boolean;
BEGIN
    IF cardinality(keys) = 1 THEN
        SELECT ARRAY[howdah_internal._hash(m.seed, keys[1])], keys INTO hashes, sorted FROM howdah.meta AS m;
    ELSE
        -- The seed by a scalar subquery: see _key_hashes.
        SELECT array_agg(d.hash ORDER BY d.hash), array_agg(d.key ORDER BY d.hash) INTO hashes, sorted
        FROM (SELECT DISTINCT ON (h.hash) h.hash, h.key
              FROM (SELECT howdah_internal._hash((SELECT m.seed FROM howdah.meta AS m), k.key) AS hash, k.key
                    FROM unnest(keys) AS k (key)) AS h
              ORDER BY h.hash) AS d;
    END IF;

    -- A tombstone is an expired row without a lease: no reader sees it, and a claim
    -- of the key waits for whoever has locked it. Every change of a row changes its
    -- version, which voids the claims there were.
    IF cardinality(hashes) > 8 THEN
        EXECUTE format($sql$
            INSERT INTO %s AS c (hash, version, expires_at, key, value)
            SELECT u.hash, $3, '-infinity', u.key, '' FROM unnest($1, $2) AS u (hash, key) ORDER BY u.hash %s
            $sql$, tbl, upsert) USING hashes, sorted, howdah_internal._clock();
    ELSIF hashes IS NOT NULL THEN
        FOR i IN 1 .. cardinality(hashes) LOOP
            -- Where there is a tombstone already, as for a key that is written often
            -- and read seldom, a lock that others share is enough: writers do not
            -- wait for each other.
            BEGIN
                EXECUTE format($sql$
                    SELECT true FROM %s AS t
                    WHERE t.hash = $1 AND t.expires_at = '-infinity' AND t.leased_until = '-infinity' FOR SHARE
                    $sql$, tbl) INTO STRICT shared USING hashes[i];
            EXCEPTION
                -- A row that ceased to be one while we waited is locked all the same.
                -- That lock goes with the savepoint: of two that have it, neither
                -- could change the row.
                WHEN no_data_found THEN
                    EXECUTE format($sql$
                        INSERT INTO %s AS c (hash, version, expires_at, key, value) VALUES ($1, $3, '-infinity', $2, '') %s
                        $sql$, tbl, upsert) USING hashes[i], sorted[i], howdah_internal._clock();
            END;
        END LOOP;
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
