CREATE OR REPLACE FUNCTION howdah_internal._grant_runtime(role name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    verb regprocedure;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role) THEN
        RETURN;  -- dropped since it was recorded
    END IF;
    -- The verbs run with the rights of the caller, and so does what they call:
    -- hence USAGE on the schema of internal things too.
    EXECUTE format('GRANT USAGE ON SCHEMA howdah, howdah_internal TO %I', role);
    EXECUTE format('GRANT SELECT ON howdah_internal.cache, howdah.cache, howdah.meta, howdah.migration TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON howdah.session, howdah.session_reader TO %I', role);
    EXECUTE format('GRANT SELECT ON howdah.sessions TO %I', role);
    EXECUTE format('GRANT SELECT, UPDATE ON howdah.session_hand TO %I', role);
    -- For howdah.maintain.
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON howdah.upkeep, howdah.beacon TO %I', role);
    EXECUTE format('GRANT SELECT, UPDATE ON howdah.leader, howdah.epoch TO %I', role);
    -- For the change log: whoever writes notes it down, and trims.
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON howdah_internal.change, howdah_internal.change_tick TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT (singleton), UPDATE (tick, floor, trimmed, bus_trimmed, start, ticked_at)'
                   ' ON howdah_internal.change_state TO %I', role);
    -- For messages between processes.
    EXECUTE format('GRANT SELECT, DELETE, INSERT (sender, kinds, channels, payloads) ON howdah_internal.bus TO %I', role);
    EXECUTE format('GRANT SELECT, DELETE, INSERT (id, name, kinds, notified, rushing, subscribers, waiters, tick),'
                   ' UPDATE (kinds, notified, rushing, subscribers, waiters, tick, renewed_at) ON howdah_internal.server TO %I', role);
    -- For the list of servers, where each has a row.
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON howdah_internal.process TO %I', role);
    -- For watches of the role's own tables.
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON howdah_internal.watch TO %I', role);
    EXECUTE format('GRANT INSERT (watch, cache, keys, tags, failure) ON howdah_internal.watch_note TO %I', role);
    -- For the scripts and functions of Redis clients.
    EXECUTE format('GRANT SELECT, DELETE, INSERT (sha1, source), UPDATE (source, loaded_at) ON howdah_internal.script TO %I', role);
    EXECUTE format('GRANT SELECT, DELETE, INSERT, UPDATE (source) ON howdah_internal.function_library TO %I', role);
    EXECUTE format('GRANT SELECT, UPDATE (scripts, functions) ON howdah_internal.script_state TO %I', role);
    -- For keyspace events: whoever may use CONFIG SET may choose them.
    EXECUTE format('GRANT SELECT, INSERT (events), UPDATE (events) ON howdah_internal.notification TO %I', role);
    EXECUTE format('GRANT UPDATE (full_since, events) ON howdah_internal.cache TO %I', role);
    FOR verb IN
        SELECT p.oid
        FROM pg_proc AS p
        JOIN pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname IN ('howdah', 'howdah_internal')
          AND (NOT p.prosecdef OR p.proname = '_here')
          AND p.proname <> ALL (ARRAY[
              'create_cache', 'alter_cache', 'drop_cache', 'grant_runtime', 'revoke_runtime', '_divide',
              '_place_steps', '_note_places', '_grant_places', '_adopt', '_follow', '_keep_toast', '_remake_parts',
              '_create_part', '_alter_part', '_swap_parts', '_lock_rows', '_lock_tables',
              '_create_table', '_create_tags', '_create_view', '_create_prefix_index', '_reserve_id', '_turn_log', '_rename_table', '_own_table', '_refuse_write',
              '_invalidate', '_invalidate_table', '_bury', '_share',
              '_check_admin', '_check_settings', '_grant_cache', '_grant_runtime'])
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', verb, role);
    END LOOP;
    PERFORM howdah_internal._grant_cache(c, role) FROM howdah_internal.cache AS c;
END
$$;

COMMENT ON FUNCTION howdah_internal._grant_runtime(name) IS
'Internal. Lets a role call the verbs and what they are made of, use every cache and
do the upkeep; nothing that makes, changes or drops caches, and nothing that runs
with the owner''s rights.';

REVOKE ALL ON FUNCTION howdah_internal._grant_runtime(name) FROM PUBLIC;
