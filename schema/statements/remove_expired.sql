-- Removes entries that have expired, and says which: whoever removes one may publish that
-- it has expired. As in howdah_internal._maintain, one stays while it may be served stale,
-- somebody holds the lease to load it, or its version is watched: what was stored since
-- then is an entry as any other. The rows of absent keys are no entries.
--   $1 hashes, $2 keys
WITH locked AS MATERIALIZED (
    SELECT u.h
{keys}         , u.k
    FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
    CROSS JOIN LATERAL (
        SELECT
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.expires_at > '-infinity'
          AND t.expires_at <= statement_timestamp() - t.stale_seconds * interval '1 second'
          AND t.leased_until <= statement_timestamp()
          AND (t.accessed <= {this_minute} OR {entry})
        FOR UPDATE) AS t
)
{keys}, near AS ({note_expired locked.h locked.k})
DELETE FROM {table} AS t
WHERE t.hash = ANY (ARRAY(SELECT l.h FROM locked AS l))
RETURNING t.hash
