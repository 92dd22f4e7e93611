CREATE OR REPLACE FUNCTION howdah_internal._refused(id integer, hashes bigint[], tags bigint[], snapshots pg_snapshot[], own pg_snapshot)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
-- Statements of programs call it, with the search_path of the application.
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    busy   integer[];
    marked bigint[];  -- those of the tags that have a mark
    xids   xid8[];    -- of the marks
    result bigint[];
BEGIN
    PERFORM howdah_internal._check_isolation();
    -- An invalidation that is under way has a lock alone until it has ended, and ends
    -- before it gives the lock back: whoever gets the lock now sees its mark with a
    -- snapshot that is taken afterwards. The caller's own snapshot may be older: it
    -- would miss an invalidation that ended between the two. Later invalidations wait
    -- for the caller's transaction, and then see what it has stored.
    busy := ARRAY(
        SELECT l.key
        FROM (SELECT DISTINCT howdah_internal._tag_lock(_refused.id, t.tag) AS key FROM unnest(_refused.tags) AS t (tag)) AS l
        WHERE NOT pg_try_advisory_xact_lock_shared(1752135540, l.key));
    -- Each statement of a VOLATILE function has a snapshot of its own. The statement
    -- is short, for it is planned each time. The mark of the tag -1 stands for all
    -- those that have been removed: what cannot have seen all of them is refused.
    EXECUTE format('SELECT array_agg(m.tag), array_agg(m.xid) FROM %s AS m'
                   ' WHERE m.hash = -1 AND m.tag = ANY ($1)', howdah_internal._tag_table_of(id))
    INTO marked, xids
    USING tags || (-1)::bigint;
    IF marked IS NULL AND busy = '{}' THEN
        RETURN '{}';
    END IF;
    SELECT array_agg(DISTINCT s.hash) INTO result
    FROM (SELECT u.hash, u.tag, u.snapshot IS NULL AS plain, coalesce(u.snapshot, own) AS snapshot
          FROM unnest(_refused.hashes, _refused.tags, _refused.snapshots) AS u (hash, tag, snapshot)) AS s
    LEFT JOIN unnest(marked, xids) AS m (tag, xid) ON m.tag = s.tag OR m.tag = -1
    WHERE howdah_internal._tag_lock(_refused.id, s.tag) = ANY (busy)
       OR CASE WHEN m.tag = -1 THEN m.xid >= pg_snapshot_xmin(s.snapshot)
               -- A snapshot does not say of its own transaction whether it shows it.
               WHEN m.xid = pg_current_xact_id_if_assigned() THEN NOT s.plain
               ELSE NOT pg_visible_in_snapshot(m.xid, s.snapshot) END;
    RETURN coalesce(result, '{}');
END
$$;

COMMENT ON FUNCTION howdah_internal._refused(integer, bigint[], bigint[], pg_snapshot[], pg_snapshot) IS
'Internal. Which entries must not be stored with their tags: those with a tag that is
being invalidated, or was invalidated by a transaction that the snapshot does not show.
To the end of the transaction no other one invalidates these tags.

id: of the cache.
hashes, tags, snapshots: the hash of an entry, of one of its tags, and the snapshot of
the claim that it was loaded under; NULL: there was no claim.
own: the snapshot of the caller''s statement. It counts where there was no claim, and
what the caller''s own transaction has invalidated then is no reason to refuse.

Returns the hashes of the refused entries. Error: HW016 (isolation level).';

REVOKE ALL ON FUNCTION howdah_internal._refused(integer, bigint[], bigint[], pg_snapshot[], pg_snapshot) FROM PUBLIC;
