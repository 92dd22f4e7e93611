-- Reading sessions from standbys.
--
-- A standby is some time behind, and only the rows that it shows can tell by
-- how much: a process that reads from standbys writes a number to a row of its
-- own here, on the primary, every second or so, and remembers when. A standby
-- that shows this number shows everything that was committed before that
-- moment. Nobody's clock is compared with another's.
CREATE TABLE howdah.session_reader (
    reader  uuid        PRIMARY KEY,  -- a process, until it ends
    beat    bigint      NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT statement_timestamp()  -- for people, and to remove rows of processes that ended
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

COMMENT ON TABLE howdah.session_reader IS
    'One row per process that reads sessions from standbys: its last heartbeat. Rows of processes that ended go after a day.';

-- Roles that howdah.grant_runtime was called for before.
DO $$
DECLARE
    role name;
BEGIN
    FOR role IN SELECT r.rolname FROM howdah.runtime_role AS t JOIN pg_roles AS r ON r.rolname = t.role LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON howdah.session_reader TO %I', role);
    END LOOP;
END
$$;
