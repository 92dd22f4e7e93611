-- Notes reads for the LRU policies: to the minute, as its end, so that an entry
-- that was read in this minute is more recent than one that was only written in
-- it. The rows are there and locked: none is inserted. It goes by the unique
-- index, where a join might read the whole table (see expire.sql).
--   $1 hashes, $2 how often each was read
WITH noted AS MATERIALIZED (
    SELECT u.h, t.frequency
    FROM unnest($1::bigint[], $2::integer[]) AS u (h, n)
    CROSS JOIN LATERAL (
        SELECT t.frequency
        FROM {table} AS t
        WHERE t.hash = u.h AND t.accessed < {this_minute}
        FOR NO KEY UPDATE SKIP LOCKED) AS t
)
INSERT INTO {table} AS t (hash, key, value, version, expires_at, accessed, frequency)
SELECT n.h, '', '', 0, '-infinity', {this_minute}, n.frequency
FROM noted AS n
ON CONFLICT (hash) DO UPDATE
SET accessed  = excluded.accessed,
    frequency = excluded.frequency
