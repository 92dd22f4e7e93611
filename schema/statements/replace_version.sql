-- As replace, of one version each, and the entries keep their expiry: what an edit
-- stores. Nothing has to be worked out before a row is written, so each is found, locked
-- and written in one pass, in the order of the hashes. A row that somebody else changes
-- meanwhile has another version when it is locked, and is left alone. The hashes are asked
-- for by the index even if the plan was made while the table was thought to be empty.
--   $1 hashes, $2 keys, $3 values, $4 versions, $5 kinds
{log}WITH put AS (
UPDATE {table} AS t
SET value         = u.v,
    version       = greatest(t.version + 1, {clock}),
    kind          = u.kind::smallint,
    stale_seconds = 0,
    leased_until  = '-infinity'
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::integer[]) AS u (h, k, v, version, kind)
WHERE t.hash = ANY ($1::bigint[])
  AND t.hash = u.h
  AND t.key = u.k
  AND t.version = u.version
  AND t.expires_at > statement_timestamp()
RETURNING t.hash, t.version
{log}), near AS ({note_rows put.hash})
{log}SELECT hash, version FROM put
