CREATE OR REPLACE FUNCTION howdah._jitter(settings howdah.cache, expiry timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN CASE WHEN settings.ttl_jitter > 0 AND expiry < 'infinity'
            THEN statement_timestamp()
                 + (expiry - statement_timestamp()) * (1 - settings.ttl_jitter / 100.0 * random())
            ELSE expiry END;

COMMENT ON FUNCTION howdah._jitter(howdah.cache, timestamptz) IS
'Internal. When an entry dies that is stored now with this expiry: sooner by up to
the jitter of the cache, at random.';

REVOKE ALL ON FUNCTION howdah._jitter(howdah.cache, timestamptz) FROM PUBLIC;
