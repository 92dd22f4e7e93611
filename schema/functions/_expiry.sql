CREATE OR REPLACE FUNCTION howdah_internal._expiry(settings howdah_internal.cache, ttl interval) RETURNS timestamptz
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    asked  interval    := coalesce(ttl, settings.default_ttl, howdah.no_expiry());
    expiry timestamptz := 'infinity';
BEGIN
    IF asked < howdah.no_expiry() THEN
        expiry := statement_timestamp() + asked;
        -- Not a test of the interval: "1 month -30 days" depends on the month.
        IF expiry <= statement_timestamp() THEN
            RAISE EXCEPTION 'The TTL % is not positive.', asked
                USING ERRCODE = 'HW009',
                      HINT = 'Give a positive interval, NULL for the default of the cache, or howdah.no_expiry().';
        END IF;
    END IF;
    IF settings.max_ttl < howdah.no_expiry() THEN
        expiry := least(expiry, statement_timestamp() + settings.max_ttl);
    END IF;
    RETURN expiry;
END
$$;

COMMENT ON FUNCTION howdah_internal._expiry(howdah_internal.cache, interval) IS
'Internal. When an entry stored now with this TTL dies: NULL takes the default of
the cache, the maximum of the cache caps, infinity is no expiry. Raises HW009.';

REVOKE ALL ON FUNCTION howdah_internal._expiry(howdah_internal.cache, interval) FROM PUBLIC;
