CREATE OR REPLACE FUNCTION howdah_internal._log(settings howdah_internal.cache, hashes bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF 'near' = ANY (settings.features) AND cardinality(hashes) IS DISTINCT FROM 0 THEN
        INSERT INTO howdah_internal.change (cache, hashes)
        VALUES (settings.id, CASE WHEN cardinality(_log.hashes) <= 1000 THEN _log.hashes END);
        -- So that the log stays short where nobody calls howdah.maintain. In a
        -- transaction of several statements the others would wait for its end.
        IF random() < 0.02 AND transaction_timestamp() >= statement_timestamp() THEN
            PERFORM howdah_internal._trim_log(clock_timestamp() + interval '10 milliseconds');
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._log(howdah_internal.cache, bigint[]) IS
'Internal. Notes in the change log, if the cache has one, which entries a function
changes in this transaction. hashes: NULL, or more than 1,000: all of the cache.';

REVOKE ALL ON FUNCTION howdah_internal._log(howdah_internal.cache, bigint[]) FROM PUBLIC;
