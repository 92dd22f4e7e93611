CREATE OR REPLACE FUNCTION howdah_internal._adopt(seed bytea, partitions integer) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- No NOTICE of a view or a table that somebody has dropped before.
SET client_min_messages = warning
-- As howdah.drop_cache.
SET lock_timeout = '2s'
AS $$
DECLARE
    own    howdah_internal.cache;
    stored boolean;
BEGIN
    PERFORM howdah_internal._check_admin();
    -- Whoever makes a cache holds this row too.
    IF EXISTS (SELECT FROM (SELECT m.seed, m.partitions FROM howdah.meta AS m FOR UPDATE) AS m
               WHERE m.seed = _adopt.seed AND m.partitions = _adopt.partitions)
       AND NOT EXISTS (SELECT FROM howdah_internal.cache AS c WHERE c.shard IS NULL) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM howdah.session) THEN
        RAISE EXCEPTION 'There are sessions on this server.'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'A server joins others with an empty database.';
    END IF;
    FOR own IN SELECT c.* FROM howdah_internal.cache AS c ORDER BY c.name COLLATE "C" FOR UPDATE LOOP
        IF own.shard IS NULL THEN
            EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', howdah_internal._table(own));
            EXECUTE format('SELECT EXISTS (SELECT FROM %s AS c WHERE c.expires_at > statement_timestamp())', howdah_internal._table(own))
            INTO stored;
        ELSE  -- placed by others, under another seed
            stored := (SELECT m.seed <> _adopt.seed FROM howdah.meta AS m);
        END IF;
        IF stored THEN
            RAISE EXCEPTION 'Cache % of this server holds entries.', quote_literal(howdah_internal._shown_name(own))
                USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'A server joins others with an empty database.';
        END IF;
        IF own.shard IS NULL THEN
            EXECUTE format('DROP VIEW IF EXISTS howdah.%I', 'cache_' || howdah_internal._shown_name(own));
            EXECUTE format('DROP TABLE %s, %s', howdah_internal._table(own), howdah_internal._tag_table(own));
            DELETE FROM howdah_internal.cache AS c WHERE c.name = own.name;
            DELETE FROM howdah.upkeep AS u WHERE u.cache = own.name;
        END IF;
    END LOOP;
    UPDATE howdah.meta AS m SET seed = _adopt.seed, partitions = _adopt.partitions;
END
$$;

COMMENT ON FUNCTION howdah_internal._adopt(bytea, integer) IS
'Internal. Makes this server one of several: keys have the hashes, and the partitions, that
they have on the coordinator. Its own caches go; they must hold nothing.';

REVOKE ALL ON FUNCTION howdah_internal._adopt(bytea, integer) FROM PUBLIC;
