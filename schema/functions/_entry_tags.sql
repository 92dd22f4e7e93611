CREATE OR REPLACE FUNCTION howdah_internal._entry_tags(tags text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF cardinality(tags) > 64 THEN
        RAISE EXCEPTION 'There are % tags; an entry may have 64.', cardinality(tags)
            USING ERRCODE = 'HW017', HINT = 'Tag the entry with what it depends on most, or with one tag for several.';
    END IF;
    RETURN howdah_internal._tag_hashes(tags);
END
$$;

COMMENT ON FUNCTION howdah_internal._entry_tags(text[]) IS
'Internal. howdah_internal._tag_hashes for the tags of an entry, which may have 64: else HW017.';

REVOKE ALL ON FUNCTION howdah_internal._entry_tags(text[]) FROM PUBLIC;
