-- Keeps a script. One that is there is written again only if its text is another, or it
-- was loaded last more than a day ago. The scripts loaded longest ago are removed where
-- there are too many; those that another statement removes at the moment are passed over.
--   $1 SHA-1, $2 source, $3 most scripts, $4 most bytes of text
WITH put AS (
    INSERT INTO howdah_internal.script AS s (sha1, source)
    VALUES ($1::bytea, $2::bytea)
    ON CONFLICT (sha1) DO UPDATE
        SET source    = excluded.source,
            loaded_at = statement_timestamp()
        WHERE s.source <> excluded.source OR s.loaded_at < statement_timestamp() - interval '1 day'
    RETURNING s.sha1
), ranked AS (
    SELECT sha1,
           row_number() OVER latest AS place,
           sum(size) OVER latest AS bytes
    FROM howdah_internal.script
    WHERE sha1 <> $1::bytea
    WINDOW latest AS (ORDER BY loaded_at DESC, sha1)
), excess AS (
    SELECT sha1
    FROM howdah_internal.script
    WHERE sha1 = ANY (ARRAY(
        SELECT sha1
        FROM ranked
        WHERE place > $3::bigint - 1 OR bytes > $4::bigint - octet_length($2::bytea)))
    FOR UPDATE SKIP LOCKED
)
DELETE FROM howdah_internal.script
WHERE sha1 = ANY (ARRAY(SELECT sha1 FROM excess)) AND EXISTS (SELECT FROM put)
