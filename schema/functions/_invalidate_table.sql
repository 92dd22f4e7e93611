CREATE OR REPLACE FUNCTION howdah_internal._invalidate_table(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl   CONSTANT text    := howdah_internal._table(settings);
    waits CONSTANT text    := current_setting('lock_timeout');
    -- An older snapshot does not show what was stored since, and DELETE would leave it.
    blind CONSTANT boolean := current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
BEGIN
    BEGIN
        -- The lock of TRUNCATE stops readers too. That must be short: while it waits,
        -- and where the transaction may be prepared and stay so for long.
        IF NOT blind AND current_setting('max_prepared_transactions')::integer > 0 THEN
            RAISE lock_not_available;
        ELSIF NOT blind THEN
            PERFORM set_config('lock_timeout', '100ms', true);
        END IF;
        -- The marks of tags go too: what was claimed before fails for lack of its row.
        EXECUTE format('TRUNCATE %s, %s', tbl, howdah_internal._tag_table(settings));
        PERFORM set_config('lock_timeout', waits, true);
        PERFORM howdah_internal._log(settings, NULL);
        RETURN;
    EXCEPTION
        WHEN lock_not_available OR disk_full OR object_in_use THEN
            IF blind THEN
                RAISE;
            END IF;  -- lock_timeout is back with the rest
    END;

    -- Readers go on. Writers and claims wait until the transaction ends: a claim of a
    -- key that has no row would not be seen, and could store what was loaded before.
    EXECUTE format('LOCK TABLE %s IN EXCLUSIVE MODE', tbl);
    EXECUTE 'DELETE FROM ' || tbl;
    PERFORM howdah_internal._log(settings, NULL);
END
$$;

COMMENT ON FUNCTION howdah_internal._invalidate_table(howdah_internal.cache) IS
'Internal. Removes every entry of a cache inside a longer transaction, so that nothing
is stored before its end.';

REVOKE ALL ON FUNCTION howdah_internal._invalidate_table(howdah_internal.cache) FROM PUBLIC;
