-- Watches: tables of applications whose changes invalidate entries of a cache, in
-- the same transaction. A watch is four statement triggers on the table and one
-- function beside it, which belongs to the owner of the table; howdah.watch_table
-- makes them. Each calls _note_watch, and the trigger of watch_note does the rest
-- at commit.

-- For people and for the doctor: nothing that a watch does depends on these rows.
CREATE TABLE howdah_internal.watch (
    id         text        PRIMARY KEY,          -- 12 hexadecimal digits, the end of the function's name
    relation   text        NOT NULL,             -- as it was named when the watch was made
    cache      text        NOT NULL,
    key        text,
    tag        text,
    created_at timestamptz NOT NULL DEFAULT statement_timestamp(),
    written    bigint      NOT NULL,             -- rows of the table that were written before, by PostgreSQL's statistics
    failures   bigint      NOT NULL DEFAULT 0,   -- transactions in which an expression failed
    failed_at  timestamptz,
    failure    text,                             -- the last one
    CHECK (key IS NOT NULL OR tag IS NOT NULL)
);

COMMENT ON TABLE howdah_internal.watch IS
    'The watches that howdah.watch_table made. howdah.watches() shows them.';

-- What open transactions have to invalidate: a row per statement, which its own
-- transaction removes at commit. Nothing of it outlives a transaction, so it may be
-- UNLOGGED.
CREATE UNLOGGED TABLE howdah_internal.watch_note (
    xid     xid8    NOT NULL DEFAULT pg_current_xact_id(),  -- the top-level one, inside savepoints too
    watch   text    NOT NULL,
    cache   text    NOT NULL,
    keys    bytea[],                                        -- keys and tags NULL: every entry of the cache
    tags    text[],
    failure text                                            -- why it is every entry, if an expression failed
) WITH (
    -- All of its rows are dead soon.
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_vacuum_cost_delay = 1,
    autovacuum_vacuum_cost_limit = 1000,
    vacuum_truncate = off
);

-- What is asked is asked by the index, whatever the numbers say.
ALTER TABLE howdah_internal.watch_note
    ALTER COLUMN keys SET STATISTICS 0,
    ALTER COLUMN tags SET STATISTICS 0;

CREATE INDEX watch_note_xid ON howdah_internal.watch_note (xid);

COMMENT ON TABLE howdah_internal.watch_note IS
    'What the changes of watched tables in open transactions invalidate when they commit.';
