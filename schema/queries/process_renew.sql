-- Writes or renews the row of a process of "howdah serve". What others have not renewed for
-- 5 minutes is forgotten, and what a clock that was set back has left in the future.
--   $1 its id, $2 its name, $3 the version of the program, $4 since when it has run
--   $5 the bound of the entries in memory (0: none), $6 the entries, $7 their bytes
--   $8 the most bytes, $9 hits, $10 misses, $11 age of the oldest hit
--   $12 since the last poll, $13 drops, $14 lapses
WITH silent AS (
    DELETE FROM howdah_internal.process AS p
    WHERE p.id = ANY (ARRAY(
        SELECT o.id FROM howdah_internal.process AS o
        WHERE o.id <> $1::bigint
          AND o.seen_at NOT BETWEEN statement_timestamp() - interval '5 minutes' AND statement_timestamp() + interval '5 minutes'
        ORDER BY o.id
        FOR UPDATE SKIP LOCKED))
)
INSERT INTO howdah_internal.process AS p
    (id, name, version, started_at, near_bound, near_entries, near_bytes, near_max_bytes,
     near_hits, near_misses, near_max_age, near_lag, near_drops, near_lapses)
VALUES ($1::bigint, left($2::text, 256), left($3::text, 64), statement_timestamp() - $4::interval,
        $5::interval, $6::bigint, $7::bigint, $8::bigint,
        $9::bigint, $10::bigint, $11::interval, $12::interval, $13::bigint, $14::bigint)
ON CONFLICT (id) DO UPDATE
SET seen_at        = statement_timestamp(),
    near_bound     = excluded.near_bound,
    near_entries   = excluded.near_entries,
    near_bytes     = excluded.near_bytes,
    near_max_bytes = excluded.near_max_bytes,
    near_hits      = excluded.near_hits,
    near_misses    = excluded.near_misses,
    near_max_age   = excluded.near_max_age,
    near_lag       = excluded.near_lag,
    near_drops     = excluded.near_drops,
    near_lapses    = excluded.near_lapses
