CREATE OR REPLACE FUNCTION howdah_internal._replace_tags(settings howdah_internal.cache, hash bigint, tags bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    EXECUTE format('DELETE FROM %s AS g WHERE g.hash = $1 AND g.tag <> ALL ($2)', howdah_internal._tag_table(settings))
    USING hash, tags;
    PERFORM howdah_internal._add_tags(howdah_internal._tag_table(settings), hash, tags);
END
$$;

COMMENT ON FUNCTION howdah_internal._replace_tags(howdah_internal.cache, bigint, bigint[]) IS
'Internal. Gives an entry that this transaction has stored these tags, and no other.';

REVOKE ALL ON FUNCTION howdah_internal._replace_tags(howdah_internal.cache, bigint, bigint[]) FROM PUBLIC;
