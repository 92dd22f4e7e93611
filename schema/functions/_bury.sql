CREATE OR REPLACE FUNCTION howdah_internal._bury(settings howdah_internal.cache, keys bytea[], tried boolean) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl    CONSTANT text := howdah_internal._table(settings);
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
BEGIN
    -- The seed by a scalar subquery: see _key_hashes.
    SELECT array_agg(d.hash ORDER BY d.hash), array_agg(d.key ORDER BY d.hash) INTO hashes, sorted
    FROM (SELECT DISTINCT ON (h.hash) h.hash, h.key
          FROM (SELECT howdah_internal._hash((SELECT m.seed FROM howdah.meta AS m), k.key) AS hash, k.key
                FROM unnest(keys) AS k (key)) AS h
          ORDER BY h.hash) AS d;

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
            IF tried OR NOT howdah_internal._share(settings, hashes[i]) THEN
                EXECUTE format($sql$
                    INSERT INTO %s AS c (hash, version, expires_at, key, value) VALUES ($1, $3, '-infinity', $2, '') %s
                    $sql$, tbl, upsert) USING hashes[i], sorted[i], howdah_internal._clock();
            END IF;
        END LOOP;
    ELSE
        RETURN;
    END IF;
    -- All of them: memory may hold what was evicted here.
    PERFORM howdah_internal._log(settings, hashes, sorted);
END
$$;

COMMENT ON FUNCTION howdah_internal._bury(howdah_internal.cache, bytea[], boolean) IS
'Internal. Puts tombstones in the place of keys, in the order of their hashes. They
stay locked until the transaction ends; upkeep removes them later.

tried: the caller has found, by _share, that none of them is there.';

REVOKE ALL ON FUNCTION howdah_internal._bury(howdah_internal.cache, bytea[], boolean) FROM PUBLIC;
