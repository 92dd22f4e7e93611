CREATE OR REPLACE FUNCTION howdah.claim(cache text, key bytea, lease interval DEFAULT '10 seconds')
RETURNS TABLE (state text, value bytea, token bigint, won boolean, lease_left interval, expired interval, snapshot pg_snapshot)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._stay(howdah_internal._settings(cache, key));
    hash     CONSTANT bigint := howdah.key_hash(howdah_internal._check_key(key));
    now      CONSTANT timestamptz := statement_timestamp();
    waits    CONSTANT text := current_setting('lock_timeout');
    -- What a snapshot that is older than the claim shows may be void already.
    none     CONSTANT boolean := settings.full_since IS NOT NULL
                              OR current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
    slot     record;
BEGIN
    snapshot := pg_current_snapshot();
    IF lease IS NULL OR now + lease <= now THEN
        RAISE EXCEPTION 'The lease % is not positive.', coalesce(lease::text, 'NULL')
            USING ERRCODE = 'HW009', HINT = 'Give the longest time that a load may take.';
    END IF;
    won := false;
    LOOP
        EXECUTE format($sql$
            SELECT c.key = $2 AS own, c.version, c.value, c.expires_at, c.leased_until, c.stale_seconds,
                   c.kind <> 0 AND c.key = $2 AND c.expires_at > statement_timestamp() AS refused, c.kind
            FROM %s AS c
            WHERE c.hash = $1
            $sql$, howdah_internal._table(settings))
        INTO slot
        USING hash, key;
        IF slot.refused THEN
            PERFORM howdah_internal._refuse_kind(slot.kind);
        END IF;
        EXIT WHEN slot.expires_at > now OR slot.leased_until > now OR none;
        -- As schema/statements/claim.sql.
        BEGIN
            PERFORM set_config('lock_timeout', '200ms', true);
            EXECUTE format($sql$
                INSERT INTO %s AS c (hash, version, expires_at, leased_until, key, value)
                VALUES ($1, howdah_internal._clock(), '-infinity', $3, $2, '')
                ON CONFLICT (hash) DO UPDATE
                SET key           = excluded.key,
                    value         = CASE WHEN c.key = excluded.key THEN c.value ELSE '' END,
                    version       = CASE WHEN c.key = excluded.key THEN c.version
                                         ELSE greatest(c.version + 1, excluded.version) END,
                    expires_at    = CASE WHEN c.key = excluded.key THEN c.expires_at ELSE '-infinity' END,
                    kind          = CASE WHEN c.key = excluded.key THEN c.kind ELSE excluded.kind END,
                    stale_seconds = CASE WHEN c.key = excluded.key THEN greatest(c.stale_seconds, 0) ELSE 0 END,
                    leased_until  = excluded.leased_until
                WHERE c.expires_at <= statement_timestamp() AND c.leased_until <= statement_timestamp()
                RETURNING true AS own, c.version, c.value, c.expires_at, c.leased_until, c.stale_seconds, true AS won
                $sql$, howdah_internal._table(settings))
            INTO slot
            USING hash, key, now + lease;
            PERFORM set_config('lock_timeout', waits, true);
        EXCEPTION WHEN lock_not_available THEN
            state := 'unleased';
            RETURN NEXT;
            RETURN;
        END;
        won := slot.won IS NOT NULL;
        EXIT WHEN won;  -- otherwise a row has appeared
    END LOOP;

    state := CASE WHEN slot.own IS NOT TRUE THEN 'unleased'
                  WHEN slot.expires_at > now THEN 'hit'
                  WHEN slot.expires_at > now - slot.stale_seconds * interval '1 second' THEN 'stale'
                  WHEN won THEN 'won'
                  WHEN slot.leased_until <= now THEN 'unleased'
                  WHEN slot.stale_seconds < 0 THEN 'absent'
                  ELSE 'lost' END;
    IF state IN ('hit', 'stale', 'won') THEN
        token := slot.version;
    END IF;
    IF state IN ('hit', 'stale') THEN
        value := slot.value;
    END IF;
    IF state = 'stale' THEN
        expired := now - slot.expires_at;
    END IF;
    IF state <> 'unleased' AND slot.leased_until > now THEN
        -- Before PostgreSQL 17 infinity cannot be subtracted from.
        lease_left := CASE WHEN slot.leased_until < 'infinity' THEN slot.leased_until - now ELSE howdah.no_expiry() END;
    END IF;
    RETURN NEXT;
END
$$;

COMMENT ON FUNCTION howdah.claim(text, bytea, interval) IS
'Reads a value; if there is none, one of many callers wins the lease to load it.
The caller that wins calls howdah.fulfil with what was loaded, or howdah.release if the load
failed. Commit before the load: until then the others do not see the lease. Load in
another statement, never in the one that calls howdah.claim: that one shows what was
there before the claim.

cache: the name of a cache.
key: at most 65536 bytes.
lease: how long a load may take before another caller may begin one.

Returns one row.
state: hit: value is live. stale: value has expired, but may still be served. won:
there is no value, and the caller is to load it. lost: somebody else loads it: ask
again soon. absent: somebody loaded it a moment ago, and there was nothing.
unleased: load it, but do not store it: the cache is full, another key has the same
hash, an open transaction holds the row, or this one is not READ COMMITTED.
value: of a hit, or the stale one; else NULL.
token: for howdah.fulfil and howdah.release; NULL unless state is hit, stale or won.
won: true if the caller is to load the value: always if state is won, and for one of
those who get a stale value.
lease_left: what remains of the lease, or of the time for which the key is known to
be absent; howdah.no_expiry(): that has no end; NULL: there is no lease.
expired: how long ago a stale value expired; else NULL.
snapshot: for howdah.fulfil with tags.

Errors: HW001 cache not found, HW007 key too long, HW009 the lease is not positive,
HW012 NULL, HW018 the key holds a collection.';

REVOKE ALL ON FUNCTION howdah.claim(text, bytea, interval) FROM PUBLIC;
