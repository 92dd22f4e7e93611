-- Writes a group of keys, all or nothing: only if every key, those included that
-- were only read, still is as it was read. The rows are found, locked and compared
-- one by one, in the order of the arrays, which are sorted. A key that was absent
-- needs a row too, which "hold" has made in this transaction: without one the
-- group counts as changed, as it does if anything else differs.
--
-- The first row of the answer has no hash, and 0 if something has changed, 1 if a
-- live key in the slot of another is in the way (class sync), 2 if all is written.
--   $1 hashes, $2 keys, $3 values, $4 expiries, $5 versions: of a live entry; 0:
--   there was none; negative: there was none, and its row has this version still,
--   $6 0: only read, 1: store, 2: store and keep the expiry, 3: delete, $7 kinds
WITH locked AS MATERIALIZED (
    SELECT u.h, u.k, u.v, u.act, u.kind,
           CASE WHEN u.act = 2 AND u.version > 0 THEN t.expires_at ELSE {expiry} END AS expires_at,
           u.act IN (1, 2) AND NOT t.free AS taken
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::integer[], $7::integer[])
         AS u (h, k, v, e, version, act, kind)
    CROSS JOIN LATERAL (
        SELECT t.expires_at, t.key = u.k OR {writable} AS free
        FROM {table} AS t
        WHERE t.hash = u.h
          AND (t.key = u.k AND t.version = abs(u.version) AND (t.expires_at > statement_timestamp()) = (u.version > 0)
               OR u.version = 0 AND NOT (t.key = u.k AND t.expires_at > statement_timestamp()))
        FOR UPDATE) AS t
), verdict AS MATERIALIZED (
    SELECT CASE WHEN count(*) < pg_catalog.cardinality($1::bigint[]) THEN 0
                WHEN count(*) FILTER (WHERE l.taken) > 0 THEN 1
                ELSE 2
           END AS outcome
    FROM locked AS l
), changed AS MATERIALIZED (
    SELECT l.*
    FROM locked AS l
    WHERE l.act <> 0 AND (SELECT v.outcome FROM verdict AS v) = 2
), removed AS (
    DELETE FROM {table} AS t
    WHERE t.hash = ANY (ARRAY(SELECT c.h FROM changed AS c WHERE c.act = 3))
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at, kind)
    SELECT c.h, c.k, c.v, {clock}, c.expires_at, c.kind::smallint
    FROM changed AS c
    WHERE c.act <> 3
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = excluded.value,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = excluded.expires_at,
        {fresh}
    RETURNING t.hash, t.version
)
{log}, near AS ({note_rows changed.h changed.k})
SELECT NULL::bigint, v.outcome::bigint FROM verdict AS v
UNION ALL
SELECT p.hash, p.version FROM put AS p
