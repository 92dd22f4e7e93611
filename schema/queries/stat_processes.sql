-- The processes of "howdah serve" that were seen within 5 minutes, the first ones first:
-- number, name, version, since when, when seen last, whether it has missed three times to
-- say that it is there, and what it keeps in memory
-- (times in seconds).
SELECT p.id, left(p.name, 256), left(p.version, 64), p.started_at, p.seen_at,
       p.seen_at < statement_timestamp() - interval '35 seconds',
       extract(epoch FROM p.near_bound)::float8, p.near_entries, p.near_bytes, p.near_max_bytes,
       p.near_hits, p.near_misses, extract(epoch FROM p.near_max_age)::float8,
       extract(epoch FROM p.near_lag)::float8, p.near_drops, p.near_lapses
FROM howdah_internal.process AS p
WHERE p.seen_at BETWEEN statement_timestamp() - interval '5 minutes' AND statement_timestamp() + interval '5 minutes'
ORDER BY p.started_at, p.id
LIMIT 1000
