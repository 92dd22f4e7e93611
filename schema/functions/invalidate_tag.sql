CREATE OR REPLACE FUNCTION howdah.invalidate_tag(cache text, tag text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN howdah.invalidate_tags(cache, ARRAY[tag]);
END
$$;

COMMENT ON FUNCTION howdah.invalidate_tag(text, text) IS
'Removes every entry that was stored with a tag, and voids the loads of such entries
that are under way. Call it in the transaction that changes what the entries were made
from: until it ends, nothing is stored with the tag, and calls that would invalidate it
too wait.

cache: the name of a cache.
tag: 1 to 256 bytes in UTF-8.

Returns how many entries existed; expired ones do not.
Errors: HW001 cache not found, HW012 NULL, HW016 isolation level, HW017 not a tag.';

REVOKE ALL ON FUNCTION howdah.invalidate_tag(text, text) FROM PUBLIC;
