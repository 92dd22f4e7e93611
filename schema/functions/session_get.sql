CREATE OR REPLACE FUNCTION howdah.session_get(id uuid, secret_hash bytea)
RETURNS TABLE (
    user_id text, payload bytea, version bigint, created_at timestamptz, last_seen_at timestamptz,
    idle_expires_at timestamptz, absolute_expires_at timestamptz, due boolean
)
LANGUAGE sql STABLE
BEGIN ATOMIC
    -- Comparing digests with = gives nothing away: to know the digest's first
    -- bytes helps nobody to a secret that has the others too.
    SELECT s.user_id, s.payload, s.version, s.created_at, s.last_seen_at,
           s.idle_expires_at, s.absolute_expires_at, howdah_internal._session_due(s, statement_timestamp())
    FROM howdah.session AS s
    WHERE s.id = session_get.id
      AND s.secret_hash = session_get.secret_hash
      AND s.idle_expires_at > statement_timestamp();
END;

COMMENT ON FUNCTION howdah.session_get(uuid, bytea) IS
'Reads a session. No row: there is none, it has expired or was revoked, or the
secret is another. It writes nothing and can run on a standby.

id: from the token.
secret_hash: the SHA-256 of the secret in the token.

Column due: true: this use must be remembered by a call of howdah.session_touch
before idle_expires_at, or the session may end too early.';

REVOKE ALL ON FUNCTION howdah.session_get(uuid, bytea) FROM PUBLIC;
