-- What upkeep remembers: where it is, what it found, who does it.

-- One row per cache, written once a round. Room on the page keeps the updates
-- heap-only, so the table stays at one page.
CREATE TABLE howdah.upkeep (
    cache      text        PRIMARY KEY,
    hand       bigint      NOT NULL DEFAULT 0,   -- the block to look at next
    chunk      integer     NOT NULL DEFAULT 64,  -- blocks that a statement takes in about 2 ms
    entries    bigint,                           -- estimates, of caches with a budget
    bytes      bigint,
    expired    bigint      NOT NULL DEFAULT 0,   -- totals
    evicted    bigint      NOT NULL DEFAULT 0,
    last_round timestamptz NOT NULL
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

COMMENT ON TABLE howdah.upkeep IS
    'One row per cache: what howdah.maintain found and did. entries and bytes are estimates, and NULL without a budget.';

-- Which of many processes does the rounds. A lease, not a lock: it works
-- behind a transaction pooler and needs no open transaction.
CREATE TABLE howdah.leader (
    singleton boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    holder    text        NOT NULL DEFAULT '',
    until     timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

INSERT INTO howdah.leader DEFAULT VALUES;

COMMENT ON TABLE howdah.leader IS
    'Which process does the upkeep, and until when unless it says so again.';

-- A crash or a promotion empties every UNLOGGED table of the cluster at once:
-- the beacon goes out, and the epoch, which is logged, tells that it was lit.
CREATE TABLE howdah.epoch (
    singleton boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch     bigint      NOT NULL DEFAULT 1,
    since     timestamptz NOT NULL DEFAULT statement_timestamp()
);

INSERT INTO howdah.epoch DEFAULT VALUES;

COMMENT ON TABLE howdah.epoch IS
    'Goes up when the UNLOGGED caches were found emptied by a crash, a failover or a restore; epoch - 1 is how often that was.';

CREATE UNLOGGED TABLE howdah.beacon (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch     bigint  NOT NULL
);

INSERT INTO howdah.beacon (epoch) VALUES (1);

COMMENT ON TABLE howdah.beacon IS
    'The epoch in an UNLOGGED table: gone when the UNLOGGED caches were emptied.';

ALTER TABLE howdah.cache ADD COLUMN full_since timestamptz;

COMMENT ON COLUMN howdah.cache.full_since IS
    'Set by upkeep while the cache is over its budget and may evict nothing: writes that need room are refused (HW011).';
