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
           sum(octet_length(source)) OVER latest AS bytes
    FROM howdah_internal.script
    WHERE sha1 <> $1::bytea
    WINDOW latest AS (ORDER BY loaded_at DESC, sha1)
), excess AS (
    SELECT s.sha1
    FROM howdah_internal.script AS s
    JOIN ranked AS r ON r.sha1 = s.sha1
    WHERE r.place > $3::bigint - 1 OR r.bytes > $4::bigint - octet_length($2::bytea)
    FOR UPDATE OF s SKIP LOCKED
)
DELETE FROM howdah_internal.script AS s
USING excess AS e
WHERE s.sha1 = e.sha1 AND EXISTS (SELECT FROM put)
