CREATE OR REPLACE FUNCTION howdah_internal._announce_set(settings howdah_internal.cache, keys bytea[], ttl interval) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), '$', 'set', keys);
    IF ttl < howdah.no_expiry() THEN
        PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'expire', keys);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._announce_set(howdah_internal.cache, bytea[], interval) IS
'Internal. Publishes that keys were stored with a TTL that the caller gave; NULL: the
default of the cache, which is no event.';

REVOKE ALL ON FUNCTION howdah_internal._announce_set(howdah_internal.cache, bytea[], interval) FROM PUBLIC;
