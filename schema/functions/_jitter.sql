CREATE OR REPLACE FUNCTION howdah_internal._jitter(settings howdah_internal.cache, expiry timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN CASE WHEN settings.ttl_jitter > 0 AND expiry < 'infinity'
            THEN statement_timestamp()
                 + (expiry - statement_timestamp()) * (1 - settings.ttl_jitter / 100.0 * random())
            ELSE expiry END;

COMMENT ON FUNCTION howdah_internal._jitter(howdah_internal.cache, timestamptz) IS
'Internal. When an entry dies that is stored now with this expiry: sooner by up to
the jitter of the cache, at random.';

REVOKE ALL ON FUNCTION howdah_internal._jitter(howdah_internal.cache, timestamptz) FROM PUBLIC;
