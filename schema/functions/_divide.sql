CREATE OR REPLACE FUNCTION howdah_internal._divide(number integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- As howdah.drop_cache.
SET lock_timeout = '2s'
AS $$
DECLARE
    present smallint;
    part    howdah_internal.cache;
    stored  boolean;
BEGIN
    PERFORM howdah_internal._check_admin();
    IF number IS NULL OR number NOT IN (2, 4, 8, 16, 32, 64) THEN
        RAISE EXCEPTION 'A database cannot have % partitions.', coalesce(number::text, 'NULL')
            USING ERRCODE = 'HW012', HINT = 'Give a power of two from 2 to 64.';
    END IF;
    -- Whoever makes a cache holds this row too.
    SELECT m.partitions INTO present FROM howdah.meta AS m FOR UPDATE;
    IF present = number THEN
        RETURN;
    ELSIF present > 0 THEN
        RAISE EXCEPTION 'The database has % partitions, and cannot get %.', present, number
            USING ERRCODE = 'object_not_in_prerequisite_state',
                  HINT = format('Their number stays what it was first: say %s, or move the entries to a new database.', present);
    END IF;

    FOR part IN SELECT c.* FROM howdah_internal.cache AS c ORDER BY c.name COLLATE "C" FOR UPDATE LOOP
        BEGIN
            PERFORM howdah_internal._lock_tables(part, 'ACCESS EXCLUSIVE', clock_timestamp() + interval '2 seconds');
        EXCEPTION
            WHEN lock_not_available THEN
                RAISE EXCEPTION 'Cache % is in use, and the database was not divided.', quote_literal(part.name)
                    USING ERRCODE = 'lock_not_available',
                          HINT = 'A transaction has held its table for 2 s: try again, or find it in pg_locks and end it.';
        END;
        EXECUTE format('SELECT EXISTS (SELECT FROM %s AS c WHERE c.expires_at > statement_timestamp())', howdah_internal._table(part))
        INTO stored;
        IF stored THEN
            RAISE EXCEPTION 'Cache % holds entries, and the database was not divided.', quote_literal(part.name)
                USING ERRCODE = 'object_not_in_prerequisite_state',
                      HINT = format('Divide a new database, or empty this cache first, with SELECT howdah.flush(%L).', part.name);
        END IF;
    END LOOP;
    UPDATE howdah.meta AS m SET partitions = number;
    -- Watches of tables name the cache, and stay.
    FOR part IN SELECT c.* FROM howdah_internal.cache AS c ORDER BY c.name COLLATE "C" LOOP
        PERFORM howdah.drop_cache(part.name);
        PERFORM howdah.create_cache(
            part.name, part.durability, part.default_ttl, part.max_ttl, part.max_bytes, part.max_entries, part.eviction,
            part.fillfactor, part.prefix_index, part.ttl_jitter,
            near => 'near' = ANY (part.features), log_keys => 'log_keys' = ANY (part.features));
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah_internal._divide(integer) IS
'Internal. Gives the database partitions, in the place of empty caches: each is made anew, with
the settings that it had. Once for all: the number cannot be changed.

number: of partitions, a power of two from 2 to 64; it does nothing if there are so many.

Errors: HW012 no such number, 55000 there are entries, or another number of partitions,
42501 no privilege, 55P03 in use.';

REVOKE ALL ON FUNCTION howdah_internal._divide(integer) FROM PUBLIC;
