CREATE OR REPLACE FUNCTION howdah_internal._alter_part(before howdah_internal.cache, after howdah_internal.cache, empty boolean) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl  CONSTANT text := howdah_internal._table(before);
    tags CONSTANT text := howdah_internal._tag_table(before);
    -- Writes are to be noted in the change log from now on, or not any more; or their keys.
    turn CONSTANT boolean := ('near' = ANY (after.features), 'log_keys' = ANY (after.features))
                             <> ('near' = ANY (before.features), 'log_keys' = ANY (before.features));
BEGIN
    UPDATE howdah_internal.cache AS c
    SET durability = after.durability, default_ttl = after.default_ttl, max_ttl = after.max_ttl,
        max_bytes = after.max_bytes, max_entries = after.max_entries, eviction = after.eviction,
        fillfactor = after.fillfactor, prefix_index = after.prefix_index,
        ttl_jitter = after.ttl_jitter,
        full_since = NULL  -- upkeep will say so again
    WHERE c.name = after.name;

    IF empty THEN
        EXECUTE format('TRUNCATE %s, %s', tbl, tags);
    END IF;
    IF after.fillfactor <> before.fillfactor THEN
        EXECUTE format('ALTER TABLE %s SET (fillfactor = %s)', tbl, after.fillfactor);
    END IF;
    -- From a table that is logged to one that is not, or back.
    IF (after.durability = 'unlogged') <> (before.durability = 'unlogged') THEN
        EXECUTE format('ALTER TABLE %s SET %s', tbl,
                       CASE after.durability WHEN 'unlogged' THEN 'UNLOGGED' ELSE 'LOGGED' END);
        EXECUTE format('ALTER TABLE %s SET %s', tags,
                       CASE after.durability WHEN 'unlogged' THEN 'UNLOGGED' ELSE 'LOGGED' END);
    END IF;
    IF after.prefix_index AND NOT before.prefix_index THEN
        PERFORM howdah_internal._create_prefix_index(before);
    ELSIF before.prefix_index AND NOT after.prefix_index THEN
        EXECUTE format('DROP INDEX %s_prefix', tbl);
    END IF;
    IF empty OR turn THEN
        -- Under the former id: who keeps entries of it in memory drops them.
        PERFORM howdah_internal._log(before, NULL);
    END IF;
    IF turn THEN
        PERFORM howdah_internal._turn_log(after);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._alter_part(howdah_internal.cache, howdah_internal.cache, boolean) IS
'Internal. Changes the settings of a cache or of one of its partitions, whose tables the caller has
locked (_alter_mode).';

REVOKE ALL ON FUNCTION howdah_internal._alter_part(howdah_internal.cache, howdah_internal.cache, boolean) FROM PUBLIC;
