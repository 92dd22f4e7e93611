-- Messages between the processes that use a database: those of PUBLISH, and words that
-- the processes have for each other. Programs of schema 12 go on: they neither send
-- nor receive any.

-- A row for each process that wants messages. It is made before a subscription is
-- confirmed, and renewed each second. _trim_bus removes that of a process that has been
-- killed. Until then other processes send messages for it: a row may be old because
-- PostgreSQL did not answer, or its clock was set.
CREATE TABLE howdah_internal.server (
    id          bigint      PRIMARY KEY,  -- random, another one each time a process begins
    name        text        NOT NULL,     -- for people
    kinds       integer     NOT NULL,     -- of messages that it wants: the sum of 2 ^ kind
    notified    boolean     NOT NULL,     -- notifications reach it; it polls otherwise
    subscribers integer     NOT NULL,     -- for people, as the next one
    waiters     integer     NOT NULL,
    tick        bigint      NOT NULL DEFAULT 0,  -- of the change log when the row was renewed
    started_at  timestamptz NOT NULL DEFAULT statement_timestamp(),
    renewed_at  timestamptz NOT NULL DEFAULT statement_timestamp()
) WITH (
    -- Updates find room in the page, and nothing that an index holds changes.
    fillfactor = 20,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_scale_factor = 0
);

COMMENT ON TABLE howdah_internal.server IS
    'The processes that want messages of others: they have subscribers, or clients that wait for a key.';

-- A row for each statement that sent messages, or for each call of howdah.publish. A
-- process that has read all that snapshot S shows asks for what S does not show, as
-- with howdah_internal.change. UNLOGGED: after a crash it is empty, and so is
-- howdah_internal.change_state, whose incarnation tells one life of it from the next.
CREATE UNLOGGED TABLE howdah_internal.bus (
    xid      xid8        NOT NULL DEFAULT pg_current_xact_id(),  -- the top-level one, inside savepoints too
    id       bigint      NOT NULL GENERATED ALWAYS AS IDENTITY (CACHE 100),  -- orders the rows of one transaction
    sender   bigint      NOT NULL,  -- howdah_internal.server.id, which skips its own; 0: howdah.publish
    sent_at  timestamptz NOT NULL DEFAULT clock_timestamp(),  -- for people
    -- Of each message. 1: published; 2: published to a shard channel; 3: a key is not
    -- empty any more; 4: a setting has changed.
    kinds    smallint[]  NOT NULL,
    channels bytea[]     NOT NULL,
    payloads bytea[]     NOT NULL
) WITH (
    fillfactor = 100,
    toast_tuple_target = 8160,
    -- As of howdah_internal.change: rows live for seconds. Clean early, at a pace that
    -- catches up, and give no pages back under an ACCESS EXCLUSIVE lock.
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_truncate = off,
    toast.autovacuum_vacuum_threshold = 5000,
    toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_insert_threshold = -1,
    toast.autovacuum_vacuum_cost_delay = 0,
    toast.vacuum_truncate = off
);

-- EXTERNAL: a message is sent within a millisecond, and lives for seconds. STATISTICS
-- 0: what is asked is asked by the index, whatever the numbers say.
ALTER TABLE howdah_internal.bus
    ALTER COLUMN kinds    SET STATISTICS 0,
    ALTER COLUMN channels SET STORAGE EXTERNAL,
    ALTER COLUMN channels SET STATISTICS 0,
    ALTER COLUMN payloads SET STORAGE EXTERNAL,
    ALTER COLUMN payloads SET STATISTICS 0;

CREATE INDEX bus_xid ON howdah_internal.bus (xid, id);

COMMENT ON TABLE howdah_internal.bus IS
    'Messages on their way to other processes. Those older than about 10 seconds are removed.';

-- The ticks of the change log are those of the messages too.
ALTER TABLE howdah_internal.change_state
    ADD COLUMN bus_trimmed pg_snapshot NOT NULL DEFAULT '1:1:';  -- howdah_internal.bus has no row that this snapshot shows
