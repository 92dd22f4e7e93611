CREATE OR REPLACE FUNCTION howdah_internal._sample(
    settings   howdah_internal.cache,
    total      bigint,
    expected   bigint,
    salt       bigint,
    OUT blocks bigint,
    OUT rows   bigint,
    OUT bytes  bigint,
    OUT scores bigint[],
    OUT places bigint[]
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- So many stretches of so many blocks. A small table is read as a whole, and
    -- the numbers are exact. Of a larger one each 128th part gives a stretch: rows
    -- of one age lie together, and some parts are full while others are empty.
    -- Where a block holds hardly a row, as after an old snapshot has let the table
    -- grow, so few blocks would say little: up to six times as many are read.
    -- Where nothing may be evicted, writers are refused at the budget and not a
    -- little beyond it: up to 4,096 blocks, 32 MiB, are read, which takes tens of
    -- milliseconds, and only while writers ask for room.
    number  CONSTANT bigint := CASE WHEN settings.eviction = 'noeviction' THEN 2048
        ELSE 128 * greatest(1, least(6, 4 * total / greatest(expected, 1))) END;
    stretch CONSTANT bigint := 2;
    starts  bigint[];
BEGIN
    SELECT array_agg(s.start), sum(least(s.start + stretch, total) - s.start)
    INTO starts, blocks
    FROM (SELECT CASE WHEN total <= number * stretch THEN i * stretch
                      ELSE floor((i + random()) * (total - stretch) / number)::bigint END AS start
          FROM generate_series(0, number - 1) AS i) AS s
    WHERE s.start < total;

    EXECUTE format($sql$
        SELECT count(*), coalesce(sum(octet_length(c.key) + octet_length(c.value) + 100), 0),
               array_agg(%2$s) FILTER (WHERE %3$s), array_agg(s.place) FILTER (WHERE %3$s)
        FROM unnest($1) AS s (place), LATERAL (
            SELECT c.* FROM %1$s AS c
            WHERE c.ctid >= format('(%%s,0)', s.place)::tid
              AND c.ctid < format('(%%s,0)', least(s.place + $2, $3))::tid
              AND c.expires_at > statement_timestamp()
            OFFSET 0) AS c
        $sql$, howdah_internal._table(settings), howdah_internal._score(settings.eviction, salt),
        CASE WHEN settings.eviction = 'noeviction' THEN 'false'
             WHEN settings.eviction LIKE 'volatile-%' THEN 'c.expires_at < ''infinity'''
             ELSE 'true' END)
    INTO rows, bytes, scores, places
    USING starts, stretch, total;
END
$$;

COMMENT ON FUNCTION howdah_internal._sample(howdah_internal.cache, bigint, bigint, bigint) IS
'Internal. Reads some blocks of a cache, spread over it: how many, the live rows
in them, what these need, and, of those that the policy may evict, the scores and
the places (first blocks). An entry counts as its key, its value and 100 bytes
for row and index: row header, columns, padding, line pointer and index entry take
94 to 106, depending on the length of key and value.

expected: how many rows there were the last time.';

REVOKE ALL ON FUNCTION howdah_internal._sample(howdah_internal.cache, bigint, bigint, bigint) FROM PUBLIC;
