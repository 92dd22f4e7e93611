CREATE OR REPLACE FUNCTION howdah.get_many(cache text, keys bytea[])
RETURNS TABLE (key bytea, value bytea)
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings_many(cache, keys);
    split    record;
BEGIN
    IF settings.id IS NULL THEN  -- several partitions
        FOR split IN SELECT s.* FROM howdah_internal._split(cache, keys) AS s LOOP
            RETURN QUERY SELECT m.key, m.value FROM howdah.get_many(split.part, split.keys_of_it) AS m;
        END LOOP;
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format($sql$
        SELECT e.key, e.value
        FROM (SELECT DISTINCT ON (c.hash) c.key, c.value, c.kind
              FROM %s AS c
              WHERE c.hash = ANY ($1) AND c.key = ANY ($2) AND c.expires_at > statement_timestamp()
              ORDER BY c.hash, c.version DESC  -- REPEATABLE READ may show an old row beside the own one
             ) AS e
        WHERE e.kind = 0
        $sql$, howdah_internal._table(settings))
    USING howdah_internal._key_hashes(keys), keys;
END
$$;

COMMENT ON FUNCTION howdah.get_many(text, bytea[]) IS
'Reads many values in one snapshot. Returns a row for each key that exists and
holds no collection, in no order; a key that is named twice is answered once.

cache: the name of a cache.
keys: each at most 65536 bytes; none NULL. NULL or an empty array: no keys.

Errors: HW001 cache not found, HW007 key too long, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.get_many(text, bytea[]) FROM PUBLIC;
