-- The change log: what a write changed, for programs that keep entries in their
-- memory. It is off until a cache has the feature "near"; a cache without it
-- writes nothing here. All of it is UNLOGGED: after a crash it is empty, and what
-- was kept in memory is void.

-- One row per statement that changed entries. A program that has seen snapshot S
-- asks for what S does not show: xid >= xmax(S), and the xids in S's list.
CREATE UNLOGGED TABLE howdah_internal.change (
    xid    xid8    NOT NULL DEFAULT pg_current_xact_id(),  -- the top-level one, inside savepoints too
    cache  integer NOT NULL,                               -- howdah_internal.cache.id
    hashes bigint[],                                       -- NULL: every entry of the cache
    origin bigint,                                         -- who wrote; not used yet
    keys   bytea[]                                         -- not used yet
) WITH (
    fillfactor = 100,
    -- 1,000 hashes stay in line.
    toast_tuple_target = 8160,
    -- Rows live for half a minute. As of caches: clean early, at a pace that
    -- catches up, and give no pages back under an ACCESS EXCLUSIVE lock.
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 1,
    autovacuum_vacuum_cost_limit = 1000,
    vacuum_truncate = off
);

-- EXTERNAL: hashes are random, and compress to nothing less. STATISTICS 0: what
-- is asked is asked by the index, whatever the numbers say.
ALTER TABLE howdah_internal.change
    ALTER COLUMN hashes SET STORAGE EXTERNAL,
    ALTER COLUMN hashes SET STATISTICS 0,
    ALTER COLUMN keys   SET STORAGE EXTERNAL,
    ALTER COLUMN keys   SET STATISTICS 0;

CREATE INDEX change_xid ON howdah_internal.change (xid);

COMMENT ON TABLE howdah_internal.change IS
    'The change log: which hashes of which cache a transaction changed. howdah.maintain removes what is older than about 30 seconds.';

-- The state of the log. Ticks are its clock: see howdah_internal._trim_log.
CREATE UNLOGGED TABLE howdah_internal.change_state (
    singleton   boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    incarnation uuid        NOT NULL DEFAULT gen_random_uuid(),     -- another one after a crash or a restore
    lit_at      timestamptz NOT NULL DEFAULT clock_timestamp(),     -- for people
    lit_xid     xid8        NOT NULL DEFAULT pg_current_xact_id(),  -- an older transaction may have rows that were lost
    ticked_at   timestamptz NOT NULL DEFAULT clock_timestamp(),     -- paces the ticks; nothing else depends on a clock
    start       timestamptz NOT NULL DEFAULT pg_postmaster_start_time(),  -- of the server that made the ticks
    tick        bigint      NOT NULL DEFAULT 1,
    floor       bigint      NOT NULL DEFAULT 0,    -- rows that the snapshot of this tick shows may be gone
    trimmed     xid8        NOT NULL DEFAULT '0'   -- no row has a smaller xid
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

INSERT INTO howdah_internal.change_state DEFAULT VALUES;

COMMENT ON TABLE howdah_internal.change_state IS
    'One row: the state of the change log. No row: a crash or a restore has emptied it.';

CREATE UNLOGGED TABLE howdah_internal.change_tick (
    tick     bigint      PRIMARY KEY,
    snapshot pg_snapshot NOT NULL
) WITH (autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

COMMENT ON TABLE howdah_internal.change_tick IS
    'What each of the last ticks of the change log showed.';

-- Functions whose arguments or results change. Those of this program's version
-- are made after the migrations.
DROP FUNCTION IF EXISTS
    howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, integer, boolean),
    howdah.alter_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, text[], boolean, integer),
    howdah.caches();
