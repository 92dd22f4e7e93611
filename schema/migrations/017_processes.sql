-- The processes of "howdah serve", for the people who look after them. Programs of schema
-- 16 go on: they are not listed.

-- A row for each, which it renews every 10 seconds and removes when it stops. UNLOGGED:
-- after a crash it is empty until they renew their rows.
CREATE UNLOGGED TABLE howdah_internal.process (
    id             bigint      PRIMARY KEY,  -- random, another one each time a process begins
    name           text        NOT NULL,     -- host and number of the process
    version        text        NOT NULL,     -- of the program
    started_at     timestamptz NOT NULL,
    seen_at        timestamptz NOT NULL DEFAULT statement_timestamp(),
    -- Of the entries that it keeps in memory, since it started.
    near_bound     interval    NOT NULL,     -- the greatest age of what is read from memory; 0: it keeps none
    near_entries   bigint      NOT NULL,
    near_bytes     bigint      NOT NULL,
    near_max_bytes bigint      NOT NULL,
    near_hits      bigint      NOT NULL,
    near_misses    bigint      NOT NULL,
    near_max_age   interval    NOT NULL,     -- of the oldest hit
    near_lag       interval    NOT NULL,     -- since the last poll of the change log that succeeded; 0: none is wanted
    near_drops     bigint      NOT NULL,     -- times that it lost sight of the change log, and dropped everything
    near_lapses    bigint      NOT NULL      -- times that no poll succeeded within near_bound
) WITH (
    -- Updates find room in the page, and nothing that an index holds changes.
    fillfactor = 20,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0
);

COMMENT ON TABLE howdah_internal.process IS
    'The processes of "howdah serve" that renewed their row within the last 5 minutes.';
