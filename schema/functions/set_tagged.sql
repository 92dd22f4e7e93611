CREATE OR REPLACE FUNCTION howdah.set_tagged(
    cache text, key bytea, value bytea, tags text[], ttl interval DEFAULT NULL,
    snapshot pg_snapshot DEFAULT pg_current_snapshot()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     bigint;
    hashed   bigint[];
    result   bigint;
BEGIN
    hash := howdah.key_hash(howdah_internal._check_key(key));
    hashed := howdah_internal._entry_tags(tags);
    IF howdah_internal._refused(settings.id, array_fill(hash, ARRAY[cardinality(hashed)]), hashed, NULL, coalesce(snapshot, pg_current_snapshot())) <> '{}' THEN
        RETURN NULL;
    END IF;
    result := howdah.set(cache, key, value, ttl);
    PERFORM howdah_internal._replace_tags(settings, hash, hashed);
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.set_tagged(text, bytea, bytea, text[], interval, pg_snapshot) IS
'Stores a value as howdah.set does, with tags: howdah.invalidate_tag removes the entry.
The tags replace those of an older entry of the key. Any other write of the key keeps
them.

cache: the name of a cache.
key, value, ttl: as in howdah.set.
tags: at most 64, each of 1 to 256 bytes in UTF-8. NULL or an empty array: none.
snapshot: what the value was made from. Left out, it is that of the statement which
calls: within it a function sees more than the statement does.

Returns the version of the entry, or NULL if one of the tags is being invalidated by
another transaction: nothing was stored then, for the value may be older than what was
changed there. In rare cases that happens to another tag, which shares its lock.
Errors: as howdah.set; HW012 NULL, HW016 isolation level, HW017 not a tag, or too many.';

REVOKE ALL ON FUNCTION howdah.set_tagged(text, bytea, bytea, text[], interval, pg_snapshot) FROM PUBLIC;
