CREATE OR REPLACE FUNCTION howdah_internal._invalidate(cache text, keys bytea[], tags text[], everything boolean) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    settings howdah_internal.cache;
    part     record;
    hash     bigint;
    -- Nearly always it is one key, and often there is a tombstone of it already.
    one      CONSTANT boolean := cardinality(keys) = 1 AND cardinality(tags) = 0 AND NOT everything;
    -- An older snapshot does not show the entries that got a tag since.
    blind    CONSTANT boolean := cardinality(tags) > 0 AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
BEGIN
    FOR attempt IN 1 .. 3 LOOP
        SELECT c.* INTO settings FROM howdah_internal.cache AS c WHERE c.name = _invalidate.cache;
        IF NOT FOUND THEN
            -- No row: it was dropped, and there is nothing left to invalidate.
            FOR part IN
                SELECT p.name, coalesce(s.keys_of_it, '{}') AS keys
                FROM howdah_internal._partitions(cache) AS p
                LEFT JOIN howdah_internal._split(cache, keys) AS s ON s.part = p.name
                WHERE everything OR cardinality(tags) > 0 OR s.part IS NOT NULL
                ORDER BY p.partition
            LOOP
                PERFORM howdah_internal._invalidate(part.name, part.keys, tags, everything);
            END LOOP;
            RETURN;
        END IF;
        IF one THEN
            SELECT howdah_internal._hash(m.seed, keys[1]) INTO hash FROM howdah.meta AS m;
            IF howdah_internal._share(settings, hash) THEN
                PERFORM howdah_internal._log(settings, ARRAY[hash], keys);
                RETURN;
            END IF;
        END IF;
        BEGIN
            IF everything OR blind THEN
                PERFORM howdah_internal._invalidate_table(settings);
            ELSE
                IF cardinality(tags) > 0 THEN
                    PERFORM howdah_internal._invalidate_tags(settings, tags);
                END IF;
                PERFORM howdah_internal._bury(settings, keys, tried => one);
            END IF;
            RETURN;
        EXCEPTION
            WHEN undefined_table THEN
                NULL;  -- it was dropped or got another id since: look again
        END;
    END LOOP;
    -- A snapshot of REPEATABLE READ goes on showing the settings of the former table.
    RAISE EXCEPTION 'Cache % was changed while this transaction ran.', quote_literal(howdah_internal._shown_name(settings))
        USING ERRCODE = 'serialization_failure', HINT = 'Repeat the transaction.';
END
$$;

COMMENT ON FUNCTION howdah_internal._invalidate(text, bytea[], text[], boolean) IS
'Internal. Invalidates keys and tags of a cache, or all of it, so that what was loaded
before the end of this transaction cannot be stored after it. A cache that does not
exist is no error.';

REVOKE ALL ON FUNCTION howdah_internal._invalidate(text, bytea[], text[], boolean) FROM PUBLIC;
