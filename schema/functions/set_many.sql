CREATE OR REPLACE FUNCTION howdah.set_many(cache text, keys bytea[], "values" bytea[], ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings_many(cache, keys));
    hashes   bigint[];
    stored   bigint;
BEGIN
    PERFORM howdah_internal._room(settings);
    IF coalesce(cardinality(keys), 0) <> coalesce(cardinality("values"), 0) THEN
        RAISE EXCEPTION 'There are % keys but % values.', coalesce(cardinality(keys), 0), coalesce(cardinality("values"), 0)
            USING ERRCODE = 'HW012', HINT = 'Give one value for each key.';
    END IF;

    IF settings.id IS NULL THEN  -- several partitions, in the order of every function on many keys
        RETURN (SELECT coalesce(sum(howdah.set_many(s.part, s.keys_of_it, s.values_of_it, ttl)), 0)
                FROM howdah_internal._split(cache, keys, "values") AS s);
    END IF;

    hashes := howdah_internal._key_hashes(keys);
    -- Sorted by hash: two that store the same keys lock rows in one order. A
    -- statement cannot write a row twice, so of one slot the last item remains.
    EXECUTE format($sql$
        INSERT INTO %s AS c (hash, version, expires_at, key, value)
        SELECT DISTINCT ON (i.hash) i.hash, howdah_internal._clock(), howdah_internal._jitter($6, $2), i.key, howdah_internal._check_value(i.value)
        FROM unnest($1, $3, $4) WITH ORDINALITY AS i (hash, key, value, position)
        ORDER BY i.hash, i.position DESC
        ON CONFLICT (hash) DO UPDATE
        SET version       = greatest(c.version + 1, excluded.version),
            expires_at    = excluded.expires_at,
            key           = excluded.key,
            value         = excluded.value,
            kind          = excluded.kind,
            stale_seconds = excluded.stale_seconds,
            leased_until  = excluded.leased_until
        WHERE c.key = excluded.key OR c.expires_at <= statement_timestamp() OR $5 <> 'sync'
        $sql$, howdah_internal._table(settings))
    USING hashes, howdah_internal._expiry(settings, ttl), keys, "values", settings.durability, settings;
    GET DIAGNOSTICS stored = ROW_COUNT;

    -- The slot of another live key, or two keys of the call itself with one hash.
    IF settings.durability = 'sync' AND stored < (SELECT count(DISTINCT k) FROM unnest(keys) AS k) THEN
        PERFORM howdah_internal._evict(settings.durability);
    END IF;

    PERFORM howdah_internal._log(settings, hashes, keys);
    IF settings.events THEN
        PERFORM howdah_internal._announce_set(settings, keys, ttl);
    END IF;
    RETURN stored;
END
$$;

COMMENT ON FUNCTION howdah.set_many(text, bytea[], bytea[], interval) IS
'Stores many values with one TTL, all or none. A key that is named twice takes its
last value.

cache: the name of a cache.
keys, values: as many keys as values, in the same order; none NULL. A NULL array is
an empty one.
ttl: as in howdah.set.

Returns the number of entries stored.
Errors: as howdah.set; HW012 also if keys and values differ in number.';

REVOKE ALL ON FUNCTION howdah.set_many(text, bytea[], bytea[], interval) FROM PUBLIC;
