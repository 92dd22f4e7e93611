CREATE OR REPLACE FUNCTION howdah_internal._sweep_tags(settings howdah_internal.cache, max_blocks integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    tbl    CONSTANT text   := howdah_internal._tag_table(settings);
    total  CONSTANT bigint := pg_relation_size(to_regclass(tbl)) / current_setting('block_size')::bigint;
    place  bigint;
    found  tid[];
    swept  bigint;
    newest xid8;  -- of the marks that were removed
BEGIN
    -- In REPEATABLE READ the second statement would see no more than the first.
    IF coalesce(total, 0) = 0 OR current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN 0;
    END IF;
    SELECT CASE WHEN u.tag_hand < total THEN u.tag_hand ELSE 0 END INTO place
    FROM howdah.upkeep AS u WHERE u.cache = settings.name;
    place := coalesce(place, 0);

    -- What an entry was stored with meanwhile is locked, or seen by the second
    -- statement. Marks stay for an hour, and as long as a transaction of that time
    -- runs, so that what began its load before them can still learn of them.
    EXECUTE format($sql$
        SELECT array_agg(o.ctid) FROM (
            SELECT g.ctid FROM %1$s AS g
            WHERE g.ctid >= $1 AND g.ctid < $2
              AND CASE WHEN g.hash >= 0 THEN (SELECT true FROM %2$s AS c WHERE c.hash = g.hash) IS NULL
                       -- Of another server, in a dump.
                       WHEN g.tag = -1 THEN g.xid >= pg_snapshot_xmax(pg_current_snapshot())
                       ELSE g.marked_at < clock_timestamp() - interval '1 hour'
                            AND (g.xid < pg_snapshot_xmin(pg_current_snapshot()) OR g.xid >= pg_snapshot_xmax(pg_current_snapshot()))
                  END
            FOR UPDATE SKIP LOCKED) AS o
        $sql$, tbl, howdah_internal._table(settings))
    INTO found
    USING format('(%s,0)', place)::tid, format('(%s,0)', least(place + max_blocks, total))::tid;
    EXECUTE format($sql$
        WITH gone AS (
            DELETE FROM %1$s AS g
            WHERE g.ctid = ANY ($1)
              AND (g.hash < 0 OR (SELECT true FROM %2$s AS c WHERE c.hash = g.hash) IS NULL)
            RETURNING g.xid
        )
        SELECT count(*), (array_agg(d.xid ORDER BY d.xid DESC) FILTER (WHERE d.xid < pg_snapshot_xmax(pg_current_snapshot())))[1]
        FROM gone AS d
        $sql$, tbl, howdah_internal._table(settings))
    INTO swept, newest
    USING found;
    IF newest IS NOT NULL THEN
        EXECUTE format($sql$
            INSERT INTO %s AS g (hash, tag, xid) VALUES (-1, -1, $1)
            ON CONFLICT (hash, tag) DO UPDATE SET xid = greatest(g.xid, excluded.xid)
            $sql$, tbl)
        USING newest;
    END IF;
    UPDATE howdah.upkeep AS u
    SET tag_hand = CASE WHEN place + max_blocks >= total THEN 0 ELSE place + max_blocks END
    WHERE u.cache = settings.name;
    RETURN swept;
END
$$;

COMMENT ON FUNCTION howdah_internal._sweep_tags(howdah_internal.cache, integer) IS
'Internal. Looks at some blocks of the tags of a cache and removes what belongs to no
entry any more, and the marks of old invalidations. What is left of the marks is the
row of the tag -1, with the newest transaction among those removed.

Returns how many rows it removed.';

REVOKE ALL ON FUNCTION howdah_internal._sweep_tags(howdah_internal.cache, integer) FROM PUBLIC;
