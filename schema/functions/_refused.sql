CREATE OR REPLACE FUNCTION howdah_internal._refused(id integer, hashes bigint[], tags bigint[], snapshots pg_snapshot[], own pg_snapshot)
RETURNS bigint[]
LANGUAGE plpgsql VOLATILE
-- Statements of programs call it, with the search_path of the application.
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    busy   integer[];
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
    -- Each statement of a VOLATILE function has a snapshot of its own. Scalar
    -- subqueries are looked up by the index, whatever the statistics say.
    EXECUTE format($sql$
        SELECT array_agg(DISTINCT s.hash)
        FROM (SELECT u.hash, u.tag, u.snapshot IS NULL AS plain, coalesce(u.snapshot, $4) AS snapshot,
                     (SELECT m.xid FROM howdah_internal.%1$I AS m WHERE m.hash = -1 AND m.tag = u.tag) AS marked
              FROM unnest($1, $2, $3) AS u (hash, tag, snapshot) OFFSET 0) AS s
        WHERE howdah_internal._tag_lock($5, s.tag) = ANY ($6)
           -- A snapshot does not say of its own transaction whether it shows it.
           OR CASE WHEN s.marked = pg_current_xact_id_if_assigned() THEN NOT s.plain
                   ELSE NOT pg_visible_in_snapshot(s.marked, s.snapshot) END
           -- Marks up to this one have been removed: what cannot have seen all of
           -- them is refused.
           OR (SELECT m.xid FROM howdah_internal.%1$I AS m WHERE m.hash = -1 AND m.tag = -1) >= pg_snapshot_xmin(s.snapshot)
        $sql$, 'tag_' || id)
    INTO result
    USING hashes, tags, snapshots, own, id, busy;
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
