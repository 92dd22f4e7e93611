CREATE OR REPLACE FUNCTION howdah.fulfil(
    cache text, key bytea, token bigint, value bytea, ttl interval DEFAULT NULL, stale interval DEFAULT NULL,
    tags text[] DEFAULT NULL, snapshot pg_snapshot DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    absent   CONSTANT boolean := value IS NULL;
    hash     bigint;
    expiry   timestamptz;
    seconds  integer := 0;
    hashed   CONSTANT bigint[] := howdah_internal._entry_tags(tags);
    result   bigint;
BEGIN
    PERFORM howdah_internal._room(settings);
    hash := howdah.key_hash(howdah_internal._check_key(key));
    IF token IS NULL THEN
        RAISE EXCEPTION 'The token is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give the token that howdah.claim returned.';
    END IF;
    expiry := howdah_internal._jitter(settings, howdah_internal._expiry(settings, ttl));
    IF absent AND ttl IS NULL THEN
        RAISE EXCEPTION 'There is no value, and no TTL.'
            USING ERRCODE = 'HW009', HINT = 'Say with ttl for how long the key is known to be absent.';
    END IF;
    IF stale < interval '0' THEN
        RAISE EXCEPTION 'The value cannot be served for % after it expired.', stale
            USING ERRCODE = 'HW009', HINT = 'Give a positive interval, or NULL.';
    ELSIF stale IS NOT NULL THEN
        seconds := least(ceil(extract(epoch FROM stale)), 2147483647);
    END IF;
    IF tags IS NOT NULL THEN
        IF snapshot IS NULL THEN
            RAISE EXCEPTION 'There are tags, and no snapshot.'
                USING ERRCODE = 'HW012', HINT = 'Give the snapshot that howdah.claim returned.';
        END IF;
        IF howdah_internal._refused(settings.id, array_fill(hash, ARRAY[cardinality(hashed)]), hashed,
                                    array_fill(snapshot, ARRAY[cardinality(hashed)]), snapshot) <> '{}' THEN
            RETURN NULL;
        END IF;
    END IF;
    -- As schema/statements/fulfil.sql.
    EXECUTE format($sql$
        UPDATE %s AS c
        SET version       = greatest(c.version + 1, howdah_internal._clock()),
            expires_at    = CASE WHEN $4 IS NULL THEN '-infinity' ELSE $5 END,
            leased_until  = CASE WHEN $4 IS NULL THEN $5 ELSE '-infinity' END,
            value         = coalesce($4, ''),
            kind          = DEFAULT,
            stale_seconds = CASE WHEN $4 IS NULL THEN -1 ELSE $6 END
        WHERE c.hash = $1 AND c.key = $2 AND c.version = $3
          AND (c.kind = 0 OR c.expires_at <= statement_timestamp())
          AND (c.expires_at > '-infinity' OR c.leased_until > '-infinity')
        RETURNING c.version
        $sql$, howdah_internal._table(settings))
    INTO result
    USING hash, key, token, CASE WHEN NOT absent THEN howdah_internal._check_value(value) END, expiry, seconds;
    IF result IS NOT NULL AND tags IS NOT NULL THEN
        PERFORM howdah_internal._replace_tags(settings, hash, hashed);
    END IF;
    IF result IS NOT NULL THEN
        PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
        IF settings.events AND NOT absent THEN
            PERFORM howdah_internal._announce_set(settings, ARRAY[key], ttl);
        END IF;
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.fulfil(text, bytea, bigint, bytea, interval, interval, text[], pg_snapshot) IS
'Stores what was loaded under a lease, if the key was neither changed nor removed
since the lease was won.

cache, key, ttl: as in howdah.set.
token: from howdah.claim.
value: at most 512 MiB. NULL: there was nothing to load, which howdah.claim answers
until the TTL ends; ttl must then be given.
stale: how long howdah.claim may answer the value after it expired, rounded up to
seconds; NULL: not at all.
tags: as in howdah.set_tagged; they replace those that the key had. NULL: it keeps them.
snapshot: from howdah.claim; needed with tags only.

Returns the new version, or NULL if nothing was stored: the key was changed, or one of
the tags was invalidated since the lease was won.
Errors: as howdah.set_tagged, without HW010.';

REVOKE ALL ON FUNCTION howdah.fulfil(text, bytea, bigint, bytea, interval, interval, text[], pg_snapshot) FROM PUBLIC;
