-- It runs at commit, as whichever role commits: hence the rights of the owner. It
-- runs nothing of an application's, only statements on Howdah's own tables.
CREATE OR REPLACE FUNCTION howdah_internal._apply_watches() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET jit = off
-- The plan for watch_note is kept, and an empty table says nothing about a full one.
SET enable_seqscan = off
AS $$
DECLARE
    note  howdah_internal.watch_note;
    part  record;
BEGIN
    -- Nearly every transaction changes watched tables by one statement. Its note need
    -- not be NEW: a deferred trigger of the application may have caused it after an
    -- earlier call had dealt with NEW.
    DELETE FROM howdah_internal.watch_note AS n
    WHERE n.xid = pg_current_xact_id() AND n.keys IS NOT NULL
      AND (SELECT count(*) FROM (SELECT FROM howdah_internal.watch_note AS m WHERE m.xid = pg_current_xact_id() LIMIT 2) AS l) = 1
    RETURNING n.* INTO note;
    IF FOUND THEN
        PERFORM howdah_internal._invalidate(note.cache, note.keys, note.tags, false);
        RETURN NULL;
    END IF;

    -- None, if an earlier call has done the work of all. Caches in the order of their
    -- names and keys in that of their hashes, so that no two transactions wait for each
    -- other.
    FOR part IN
        WITH gone AS MATERIALIZED (
            DELETE FROM howdah_internal.watch_note AS n
            WHERE n.xid = pg_current_xact_id()
            RETURNING n.watch, n.cache, n.keys, n.tags, n.failure
        )
        SELECT g.cache,
               bool_or(g.keys IS NULL) AS everything,
               ARRAY(SELECT DISTINCT u.key FROM gone AS o CROSS JOIN LATERAL unnest(o.keys) AS u (key)
                     WHERE o.cache = g.cache LIMIT 1001) AS keys,
               ARRAY(SELECT DISTINCT u.tag FROM gone AS o CROSS JOIN LATERAL unnest(o.tags) AS u (tag)
                     WHERE o.cache = g.cache LIMIT 1001) AS tags,
               min(g.watch || g.failure) AS failure
        FROM gone AS g
        GROUP BY g.cache
        ORDER BY g.cache
    LOOP
        PERFORM howdah_internal._invalidate(part.cache, part.keys, part.tags,
            part.everything OR cardinality(part.keys) > 1000 OR cardinality(part.tags) > 1000);
        -- The row of a watch would be a place where transactions wait for each
        -- other, or fail: what cannot be counted at once is not counted.
        IF part.failure IS NOT NULL AND current_setting('transaction_isolation') = 'read committed' THEN
            UPDATE howdah_internal.watch AS w
            SET failures = w.failures + 1, failed_at = clock_timestamp(), failure = substr(part.failure, 13)
            WHERE w.id = (SELECT l.id FROM howdah_internal.watch AS l WHERE l.id = left(part.failure, 12) FOR UPDATE SKIP LOCKED);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION howdah_internal._apply_watches() IS
'Internal. The deferred trigger of howdah_internal.watch_note: invalidates, at commit,
what the transaction has noted.';

REVOKE ALL ON FUNCTION howdah_internal._apply_watches() FROM PUBLIC;

-- ALWAYS: a watch whose triggers were made to fire for replicated changes too has
-- noted something.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger AS t
                   WHERE t.tgrelid = 'howdah_internal.watch_note'::regclass AND t.tgname = 'apply') THEN
        CREATE CONSTRAINT TRIGGER apply AFTER INSERT ON howdah_internal.watch_note
        DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION howdah_internal._apply_watches();
        ALTER TABLE howdah_internal.watch_note ENABLE ALWAYS TRIGGER apply;
    END IF;
END
$$;
