-- Sessions. A token is an id and a secret; the database sees the SHA-256 of
-- the secret only.
--
-- A use of the session at time u promises that it lives until
-- u + idle_seconds, or until absolute_expires_at if that is sooner. Writing
-- this down at every use would be an UPDATE per read, so a write covers
-- skip_seconds in advance: it stores
--     idle_expires_at = least(u + idle_seconds + skip_seconds, absolute_expires_at)
-- and every later use whose promise this covers needs no write. A session
-- therefore never ends before its promise, and at most skip_seconds after it.
-- Reads test idle_expires_at alone.
--
-- Fixed-width columns first: no padding between them.
CREATE TABLE howdah.session (
    version             bigint      NOT NULL DEFAULT 1,  -- of payload, user and secret; a touch leaves it
    created_at          timestamptz NOT NULL DEFAULT statement_timestamp(),
    last_seen_at        timestamptz NOT NULL DEFAULT statement_timestamp(),  -- as coarse as the writes above
    idle_expires_at     timestamptz NOT NULL,            -- '-infinity': ended, kept so that it stays so
    absolute_expires_at timestamptz NOT NULL,            -- no use extends it
    idle_seconds        integer,                         -- NULL: no idle timeout
    skip_seconds        integer     NOT NULL DEFAULT 0,
    id                  uuid        NOT NULL,            -- public; authorises nothing
    secret_hash         bytea       NOT NULL CHECK (octet_length(secret_hash) = 32),
    user_id             text        COLLATE "C",         -- NULL: nobody has logged in
    ip                  inet,
    user_agent          text,
    payload             bytea       NOT NULL DEFAULT '',
    CONSTRAINT session_pkey PRIMARY KEY (id)
) WITH (
    -- Room on each page for the next version of its rows: a touch changes
    -- nothing that is indexed, and stays on its page (HOT).
    fillfactor = 80,

    -- As of caches: clean early, at a pace that catches up, and give no pages
    -- back under an ACCESS EXCLUSIVE lock.
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_scale_factor = 0.01,
    autovacuum_vacuum_insert_threshold = 10000,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 1,
    autovacuum_vacuum_cost_limit = 1000,
    vacuum_truncate = off,
    toast.autovacuum_vacuum_threshold = 1000,
    toast.autovacuum_vacuum_scale_factor = 0.01,
    toast.autovacuum_vacuum_insert_threshold = 10000,
    toast.autovacuum_vacuum_insert_scale_factor = 0.05,
    toast.autovacuum_vacuum_cost_delay = 1,
    toast.autovacuum_vacuum_cost_limit = 1000,
    toast.vacuum_truncate = off
);

-- EXTERNAL: what is too long for the page goes out of line as it is.
-- STATISTICS 0: samples of what people store must not end up in pg_statistic.
ALTER TABLE howdah.session
    ALTER COLUMN payload     SET STORAGE EXTERNAL,
    ALTER COLUMN payload     SET STATISTICS 0,
    ALTER COLUMN secret_hash SET STATISTICS 0,
    ALTER COLUMN user_agent  SET STATISTICS 0,
    ALTER COLUMN ip          SET STATISTICS 0;

-- The one other index. Nothing is indexed that a touch changes; expired rows
-- are found by walking the table (howdah.session_expire).
CREATE INDEX session_by_user ON howdah.session (user_id) WHERE user_id IS NOT NULL;

COMMENT ON TABLE howdah.session IS
    'Sessions. Change them through the functions howdah.session_*; look at them through the view howdah.sessions.';
COMMENT ON COLUMN howdah.session.secret_hash IS
    'SHA-256 of the secret half of the token. The secret itself is nowhere in the database.';

CREATE VIEW howdah.sessions AS
SELECT s.id, s.user_id, s.created_at, s.last_seen_at,
       s.idle_expires_at AS expires_at, s.absolute_expires_at,
       s.ip, s.user_agent, s.version, octet_length(s.payload) AS payload_bytes
FROM howdah.session AS s
WHERE s.idle_expires_at > statement_timestamp();

COMMENT ON VIEW howdah.sessions IS
    'The live sessions without hashes and payloads, for support. last_seen_at is coarse; expires_at is when the session ends at the latest if it is not used again.';

-- Where the next round of howdah.session_expire begins.
CREATE TABLE howdah.session_hand (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    block     bigint  NOT NULL DEFAULT 0
);
INSERT INTO howdah.session_hand DEFAULT VALUES;

COMMENT ON TABLE howdah.session_hand IS
    'One row: the block of howdah.session at which the next round of howdah.session_expire begins.';

-- Roles that howdah.grant_runtime was called for before there were sessions.
DO $$
DECLARE
    role name;
BEGIN
    FOR role IN SELECT r.rolname FROM howdah.runtime_role AS t JOIN pg_roles AS r ON r.rolname = t.role LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON howdah.session TO %I', role);
        EXECUTE format('GRANT SELECT ON howdah.sessions TO %I', role);
        EXECUTE format('GRANT SELECT, UPDATE ON howdah.session_hand TO %I', role);
    END LOOP;
END
$$;
