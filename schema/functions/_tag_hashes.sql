CREATE OR REPLACE FUNCTION howdah_internal._tag_hashes(tags text[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    -- Longer ones are cut for the message.
    wrong record;
BEGIN
    SELECT t.tag, octet_length(convert_to(t.tag, 'UTF8')) AS length INTO wrong
    FROM unnest(tags) AS t (tag)
    WHERE coalesce(octet_length(convert_to(t.tag, 'UTF8')), 0) NOT BETWEEN 1 AND 256
    LIMIT 1;
    IF FOUND THEN
        IF wrong.tag IS NULL THEN
            RAISE EXCEPTION 'A tag is NULL.' USING ERRCODE = 'HW012', HINT = 'Leave it out.';
        END IF;
        RAISE EXCEPTION 'A tag is % bytes long; it may have 1 to 256 bytes.', wrong.length
            USING ERRCODE = 'HW017', HINT = 'Use a digest of what is longer as the tag.';
    END IF;
    RETURN (
        SELECT coalesce(array_agg(DISTINCT howdah_internal._hash((SELECT m.seed FROM howdah.meta AS m), convert_to(t.tag, 'UTF8'))), '{}')
        FROM unnest(tags) AS t (tag)
    );
END
$$;

COMMENT ON FUNCTION howdah_internal._tag_hashes(text[]) IS
'Internal. The distinct hashes of tags, ordered, after a check of each: HW012 (NULL),
HW017 (empty, or too long). NULL is no tags.';

REVOKE ALL ON FUNCTION howdah_internal._tag_hashes(text[]) FROM PUBLIC;
