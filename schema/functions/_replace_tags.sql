CREATE OR REPLACE FUNCTION howdah_internal._replace_tags(id integer, hash bigint, tags bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    EXECUTE format('DELETE FROM howdah_internal.%I AS g WHERE g.hash = $1 AND g.tag <> ALL ($2)', 'tag_' || id)
    USING hash, tags;
    PERFORM howdah_internal._add_tags(id, hash, tags);
END
$$;

COMMENT ON FUNCTION howdah_internal._replace_tags(integer, bigint, bigint[]) IS
'Internal. Gives an entry that this transaction has stored these tags, and no other.';

REVOKE ALL ON FUNCTION howdah_internal._replace_tags(integer, bigint, bigint[]) FROM PUBLIC;
