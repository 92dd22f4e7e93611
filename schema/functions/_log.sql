CREATE OR REPLACE FUNCTION howdah_internal._log(settings howdah_internal.cache, hashes bigint[], keys bytea[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF 'near' = ANY (settings.features) AND cardinality(hashes) IS DISTINCT FROM 0 THEN
        INSERT INTO howdah_internal.change (cache, hashes, keys)
        VALUES (settings.id, CASE WHEN cardinality(_log.hashes) <= 1000 THEN _log.hashes END,
                -- More keys than these are none: any may have changed. As the statements.
                CASE WHEN 'log_keys' = ANY (settings.features) AND cardinality(_log.hashes) <= 1000
                     THEN CASE WHEN pg_column_size(_log.keys) <= 65536 THEN _log.keys ELSE '{}' END END);
        -- So that the log stays short where nobody calls howdah.maintain. In a
        -- transaction of several statements the others would wait for its end. A driver
        -- prepares a statement moments before it runs it, and so begins the transaction.
        IF random() < 0.02 AND statement_timestamp() - transaction_timestamp() < interval '200 microseconds' THEN
            PERFORM howdah_internal._trim_log(clock_timestamp() + interval '10 milliseconds');
        END IF;
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._log(howdah_internal.cache, bigint[], bytea[]) IS
'Internal. Notes in the change log, if the cache has one, which entries a function
changes in this transaction. hashes: NULL, or more than 1,000: all of the cache. keys:
those of the hashes, in any order; they are noted if the cache has log_keys.';

REVOKE ALL ON FUNCTION howdah_internal._log(howdah_internal.cache, bigint[], bytea[]) FROM PUBLIC;
