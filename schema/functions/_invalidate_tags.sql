CREATE OR REPLACE FUNCTION howdah_internal._invalidate_tags(settings howdah_internal.cache, tags text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    gone    CONSTANT bigint[] := howdah_internal._tag_hashes(tags);
    hashes  bigint[];
    removed bigint;
    keys    bytea[];  -- that were there, if that is an event
    noted   bytea[];  -- the keys for the change log, if it has keys
BEGIN
    IF gone = '{}' THEN
        RETURN 0;
    END IF;
    -- In the order of howdah.alter_cache and howdah.flush.
    EXECUTE format('LOCK TABLE %s, %s IN ROW EXCLUSIVE MODE',
                   howdah_internal._table(settings), howdah_internal._tag_table(settings));
    -- See howdah_internal._refused. In one order for everybody.
    PERFORM pg_advisory_xact_lock(1752135540, l.key)
    FROM (SELECT DISTINCT howdah_internal._tag_lock(settings.id, t.tag) AS key
          FROM unnest(gone) AS t (tag) ORDER BY 1 OFFSET 0) AS l;
    EXECUTE format($sql$
        INSERT INTO %s AS g (hash, tag, xid, marked_at)
        SELECT -1, t.tag, pg_current_xact_id(), clock_timestamp() FROM unnest($1) AS t (tag)
        ON CONFLICT (hash, tag) DO UPDATE SET xid = excluded.xid, marked_at = excluded.marked_at
        $sql$, howdah_internal._tag_table(settings))
    USING gone;

    -- With a snapshot taken under the locks: it shows every entry that was stored with
    -- these tags. Rows are locked first, by hash: the order of every statement on many
    -- rows. Expired ones go too, for they may be served stale.
    EXECUTE format($sql$
        WITH tagged AS MATERIALIZED (
            SELECT g.hash FROM %2$s AS g WHERE g.tag = ANY ($1) AND g.hash >= 0
        ), doomed AS MATERIALIZED (
            SELECT c.hash
            FROM %1$s AS c
            WHERE c.hash = ANY (ARRAY(SELECT t.hash FROM tagged AS t))
            ORDER BY c.hash
            FOR UPDATE
        ), gone AS (
            DELETE FROM %1$s AS c WHERE c.hash = ANY (ARRAY(SELECT d.hash FROM doomed AS d))
            RETURNING c.hash, c.key, c.expires_at > statement_timestamp() AS live
        ), untagged AS (
            DELETE FROM %2$s AS g
            WHERE g.tag = ANY ($1) AND g.hash >= 0 AND (SELECT count(*) FROM gone) >= 0
        )
        SELECT array_agg(g.hash), count(*) FILTER (WHERE g.live), array_agg(g.key) FILTER (WHERE g.live AND $2),
               array_agg(g.key) FILTER (WHERE $3)
        FROM gone AS g
        $sql$, howdah_internal._table(settings), howdah_internal._tag_table(settings))
    INTO hashes, removed, keys, noted
    USING gone, settings.events, 'log_keys' = ANY (settings.features);
    PERFORM howdah_internal._log(settings, coalesce(hashes, '{}'), noted);
    PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'del', keys) WHERE keys IS NOT NULL;
    RETURN removed;
END
$$;

COMMENT ON FUNCTION howdah_internal._invalidate_tags(howdah_internal.cache, text[]) IS
'Internal. Removes the entries with any of these tags, and leaves a mark for each tag,
which voids the loads that are under way. The caller sees to the isolation level: in
REPEATABLE READ, entries that were stored after the transaction began stay.

Returns how many entries existed. Errors: HW012 (NULL), HW017 (not a tag).';

REVOKE ALL ON FUNCTION howdah_internal._invalidate_tags(howdah_internal.cache, text[]) FROM PUBLIC;
