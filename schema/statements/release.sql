-- Ends leases by their tokens. A row that held nothing but the lease goes, unless
-- its version is watched. One that another transaction holds is left out: it is
-- about to change, or its lease ends by itself. The change log tells those who wait
-- for the lease, though nothing that a reader sees changes.
--   $1 hashes, $2 keys, $3 tokens
WITH locked AS MATERIALIZED (
    SELECT u.h, t.expires_at = '-infinity' AND t.accessed = 0 AS empty
{keys}         , u.k
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS u (h, k, token)
    CROSS JOIN LATERAL (
        SELECT t.expires_at, t.accessed
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.version = u.token
          AND t.leased_until > statement_timestamp()
        FOR UPDATE SKIP LOCKED) AS t
), gone AS (
    DELETE FROM {table} AS t
    WHERE t.hash = ANY (ARRAY(SELECT l.h FROM locked AS l WHERE l.empty))
), kept AS (
    UPDATE {table} AS t
    SET leased_until = '-infinity'
    WHERE t.hash = ANY (ARRAY(SELECT l.h FROM locked AS l WHERE NOT l.empty))
)
{log}, near AS ({note_rows locked.h locked.k})
SELECT l.h FROM locked AS l
