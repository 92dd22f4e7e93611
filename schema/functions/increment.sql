CREATE OR REPLACE FUNCTION howdah.increment(cache text, key bytea, delta bigint DEFAULT 1, ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     bigint;
    result   bytea;
    met      record;
BEGIN
    PERFORM howdah_internal._room(settings);
    IF delta IS NULL THEN
        RAISE EXCEPTION 'The delta is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give an integer; it may be negative.';
    END IF;

    hash := howdah.key_hash(howdah_internal._check_key(key));
    -- The sum is made from the row as it is when it is locked. An expired row
    -- and another key's row count as absent.
    LOOP
        EXECUTE format($sql$
            INSERT INTO %s AS c (hash, version, expires_at, key, value)
            VALUES ($1, howdah_internal._clock(), $2, $3, convert_to($4::text, 'UTF8'))
            ON CONFLICT (hash) DO UPDATE
            SET version       = greatest(c.version + 1, excluded.version),
                expires_at    = CASE WHEN c.key = excluded.key AND c.expires_at > statement_timestamp()
                                     THEN c.expires_at ELSE excluded.expires_at END,
                key           = excluded.key,
                value         = CASE WHEN c.key = excluded.key AND c.expires_at > statement_timestamp()
                                     THEN convert_to((encode(c.value, 'escape')::bigint + $4)::text, 'UTF8')
                                     ELSE excluded.value END,
                kind          = excluded.kind,
                stale_seconds = excluded.stale_seconds,
                leased_until  = excluded.leased_until
            WHERE CASE WHEN c.expires_at <= statement_timestamp() THEN true
                       WHEN c.key = excluded.key THEN c.kind = 0 AND howdah_internal._can_add(c.value, $4)
                       ELSE $5 <> 'sync' END
            RETURNING c.value
            $sql$, howdah_internal._table(settings))
        INTO result
        USING hash, howdah_internal._jitter(settings, howdah_internal._expiry(settings, ttl)),
              key, delta, settings.durability;
        EXIT WHEN result IS NOT NULL;
        -- Why not? Raised here, not in the statement, whose text PostgreSQL would add to
        -- the error. If the row has changed meanwhile, there is no reason any more.
        EXECUTE format('SELECT c.key = $2 AS own, c.kind, c.value FROM %s AS c WHERE c.hash = $1 AND c.expires_at > statement_timestamp()',
                       howdah_internal._table(settings))
        INTO met
        USING hash, key;
        IF NOT met.own AND settings.durability = 'sync' THEN
            PERFORM howdah_internal._evict(settings.durability);
        ELSIF met.own AND met.kind <> 0 THEN
            PERFORM howdah_internal._refuse_kind(met.kind);
        ELSIF met.own THEN
            PERFORM howdah_internal._add_integer(met.value, delta);
        END IF;
    END LOOP;
    PERFORM howdah_internal._log(settings, ARRAY[hash], ARRAY[key]);
    IF settings.events THEN
        PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), '$', 'incrby', ARRAY[key]);
    END IF;
    RETURN encode(result, 'escape')::bigint;
END
$$;

COMMENT ON FUNCTION howdah.increment(text, bytea, bigint, interval) IS
'Adds to a decimal integer, beginning at zero if the key is absent or expired. No
increment is ever lost.

cache: the name of a cache.
key: at most 65536 bytes.
delta: what to add; it may be negative.
ttl: of a new entry, as in howdah.set; an existing entry keeps its own.

Returns the sum.
Errors: HW001 cache not found, HW005 the value is not an integer, HW006 overflow,
HW007 key too long, HW009 invalid TTL, HW010 collision (class sync), HW011 full, HW012
NULL, HW018 the key holds a collection.
After an error the value is what it was.';

REVOKE ALL ON FUNCTION howdah.increment(text, bytea, bigint, interval) FROM PUBLIC;
