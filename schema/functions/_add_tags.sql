CREATE OR REPLACE FUNCTION howdah_internal._add_tags(relation text, hash bigint, tags bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- A row that is there is locked as it is, so that the sweep, which may just have
    -- found it without an entry, leaves it.
    EXECUTE format($sql$
        INSERT INTO %s AS g (hash, tag)
        SELECT $1, t.tag FROM unnest($2) AS t (tag)
        ON CONFLICT (hash, tag) DO UPDATE SET tag = excluded.tag WHERE false
        $sql$, relation)
    USING hash, tags;
END
$$;

COMMENT ON FUNCTION howdah_internal._add_tags(text, bigint, bigint[]) IS
'Internal. Gives an entry that this transaction has stored more tags.

relation: the table of the tags, quoted.';

REVOKE ALL ON FUNCTION howdah_internal._add_tags(text, bigint, bigint[]) FROM PUBLIC;
