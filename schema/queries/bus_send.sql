-- Sends messages if another process wants one of their kinds, and returns the kinds that
-- others want. It commits without waiting for the disk: a crash empties the table anyway.
--   $1 the sender, $2 kinds, $3 channels, $4 payloads, $5 the sum of 2 ^ kind
WITH wanted AS (
    SELECT coalesce(pg_catalog.bit_or(s.kinds), 0) AS kinds, coalesce(pg_catalog.bool_or(s.notified), false) AS notified
    FROM howdah_internal.server AS s
    WHERE s.id <> $1::bigint
),
sent AS (
    INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads)
    SELECT $1::bigint, $2::smallint[], $3::bytea[], $4::bytea[]
    FROM wanted AS w
    WHERE w.kinds & $5::integer <> 0
    RETURNING sender
)
SELECT w.kinds,
       -- NOTIFY makes commits wait for each other: not for those who poll.
       (SELECT pg_catalog.pg_notify('howdah', s.sender::text) IS NULL FROM sent AS s WHERE w.notified),
       pg_catalog.set_config('synchronous_commit', 'off', true)
FROM wanted AS w
