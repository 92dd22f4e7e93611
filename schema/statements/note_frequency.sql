-- Notes reads for the LFU policies. The counter is Redis's: it goes up by one
-- with the chance 1 / (10 * counter + 1), which takes 5 * counter^2 - 4 * counter
-- reads on average to get there, and down by one for each idle minute. Many
-- reads at once take the inverse of that, rounded by chance. It writes as
-- note_recency does.
--   $1 hashes, $2 how often each was read
WITH counted AS MATERIALIZED (
    SELECT u.h, u.n, greatest(0, t.frequency - greatest(0,
               {this_minute} - greatest(t.accessed, t.version / 60000000))) AS f
    FROM unnest($1::bigint[], $2::integer[]) AS u (h, n)
    CROSS JOIN LATERAL (
        SELECT t.frequency, t.accessed, t.version FROM {table} AS t WHERE t.hash = u.h OFFSET 0) AS t
), noted AS MATERIALIZED (
    SELECT c.h, c.frequency
    FROM (SELECT h, least(255, greatest(f, floor(
                     (4 + sqrt(16 + 20 * (greatest(0, 5 * f * f - 4 * f) + n))) / 10 + random())))::smallint AS frequency
          FROM counted) AS c
    CROSS JOIN LATERAL (
        SELECT
        FROM {table} AS t
        WHERE t.hash = c.h AND (t.accessed < {this_minute} OR t.frequency < c.frequency)
        FOR NO KEY UPDATE SKIP LOCKED) AS t
)
INSERT INTO {table} AS t (hash, key, value, version, expires_at, accessed, frequency)
SELECT n.h, '', '', 0, '-infinity', {this_minute}, n.frequency
FROM noted AS n
ON CONFLICT (hash) DO UPDATE
SET accessed  = excluded.accessed,
    frequency = excluded.frequency
