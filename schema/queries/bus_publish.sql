-- Sends messages in the transaction of the caller, if another process wants one of their
-- kinds, and returns the kinds that others want and the number of the transaction, NULL if
-- nothing was sent. The transaction keeps its own way of committing.
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
    RETURNING sender, xid
)
SELECT w.kinds,
       (SELECT s.xid::text FROM sent AS s),
       -- NOTIFY makes commits wait for each other: not for those who poll.
       (SELECT pg_catalog.pg_notify('howdah', s.sender::text) IS NULL FROM sent AS s WHERE w.notified)
FROM wanted AS w
