-- Lua scripts and function libraries of Redis clients, which all servers of a database
-- share. Programs of schema 11 go on: they keep scripts in their memory, as before, and
-- have no functions. All of it is logged: a script that was loaded outlives a crash.

-- What SCRIPT LOAD has loaded. PostgreSQL cannot compute a SHA-1: a server computes that
-- of what it reads, and runs nothing that has another.
CREATE TABLE howdah_internal.script (
    sha1      bytea       PRIMARY KEY CHECK (octet_length(sha1) = 20),
    source    bytea       NOT NULL CHECK (octet_length(source) <= 1048576),
    size      integer     GENERATED ALWAYS AS (octet_length(source)) STORED,
    loaded_at timestamptz NOT NULL DEFAULT statement_timestamp()  -- within a day; the oldest are removed first
);

-- Each script that is new asks which ones are too many, and reads this alone.
CREATE INDEX script_loaded_at ON howdah_internal.script (loaded_at DESC, sha1) INCLUDE (size);

COMMENT ON TABLE howdah_internal.script IS
    'The Lua scripts that SCRIPT LOAD has loaded, at most 10,000 and 16 MiB of text.';

-- What FUNCTION LOAD has loaded.
CREATE TABLE howdah_internal.function_library (
    name   text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) <= 1024),
    source bytea            NOT NULL CHECK (octet_length(source) <= 1048576)
);

COMMENT ON TABLE howdah_internal.function_library IS
    'The libraries of Lua functions that FUNCTION LOAD has loaded.';

-- By this row a server sees that what it has in memory is outdated. The values are random
-- and not counted, so that none comes again after a restore from a backup.
CREATE TABLE howdah_internal.script_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    scripts   uuid    NOT NULL DEFAULT gen_random_uuid(),  -- another one after each SCRIPT FLUSH
    functions uuid    NOT NULL DEFAULT gen_random_uuid()   -- another one after each change of function_library
) WITH (fillfactor = 20);

INSERT INTO howdah_internal.script_state DEFAULT VALUES;

COMMENT ON TABLE howdah_internal.script_state IS
    'One row: by which servers see that scripts were flushed, or that function libraries changed.';
