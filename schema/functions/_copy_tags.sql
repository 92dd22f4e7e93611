CREATE OR REPLACE FUNCTION howdah_internal._copy_tags(from_id integer, from_hash bigint, to_id integer, to_hash bigint) RETURNS void
LANGUAGE plpgsql VOLATILE
-- Statements of programs call it, with the search_path of the application.
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tags bigint[];
BEGIN
    EXECUTE format('SELECT array_agg(g.tag) FROM %s AS g WHERE g.hash = $1', howdah_internal._tag_table_of(from_id))
    INTO tags
    USING from_hash;
    IF tags IS NULL THEN
        RETURN;
    END IF;
    -- An invalidation that is under way does not see the copy, and waits for the row
    -- that the caller holds: it goes first. One that has ended has removed the
    -- original, which the caller would have noticed.
    IF NOT (SELECT bool_and(pg_try_advisory_xact_lock_shared(1752135540, l.key))
            FROM (SELECT DISTINCT howdah_internal._tag_lock(to_id, t.tag) AS key FROM unnest(tags) AS t (tag)) AS l) THEN
        RAISE EXCEPTION 'A tag of the entry is being invalidated.'
            USING ERRCODE = 'lock_not_available', HINT = 'Try again.';
    END IF;
    PERFORM howdah_internal._add_tags(howdah_internal._tag_table_of(to_id), to_hash, tags);
END
$$;

COMMENT ON FUNCTION howdah_internal._copy_tags(integer, bigint, integer, bigint) IS
'Internal. Gives the copy of an entry the tags of the original. The caller holds both rows.

from_id, from_hash: the cache and the hash of the original.
to_id, to_hash: of the copy.

Error: 55P03 (a tag is being invalidated).';

REVOKE ALL ON FUNCTION howdah_internal._copy_tags(integer, bigint, integer, bigint) FROM PUBLIC;
