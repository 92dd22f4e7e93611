CREATE OR REPLACE FUNCTION howdah.session_merge(
    id uuid, secret_hash bytea, fields jsonb, remove text[] DEFAULT NULL, max_bytes integer DEFAULT 1048576
) RETURNS TABLE (version bigint, payload bytea)
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE howdah.session AS s
    SET payload         = howdah_internal._session_merge(s.payload, fields, remove, least(max_bytes, 1048576)),
        version         = s.version + 1,
        last_seen_at    = statement_timestamp(),
        idle_expires_at = howdah_internal._session_expiry(s, statement_timestamp())
    WHERE s.id = session_merge.id
      AND s.secret_hash = session_merge.secret_hash
      AND s.idle_expires_at > statement_timestamp()
    RETURNING s.version, s.payload
$$;

COMMENT ON FUNCTION howdah.session_merge(uuid, bytea, jsonb, text[], integer) IS
'Changes fields of a session whose payload is a JSON object (or empty), and leaves
its other fields as they are: any number of writers at once lose nothing but what
they write to one field. Counts as a use.

id, secret_hash: as in howdah.session_get.
fields: an object; each of its fields replaces the one of that name.
remove: names of fields that go, before fields are set.
max_bytes: how long the result may be; at most 1 MiB.

Returns the new version and payload. No row: there is no such session any more.
Errors: HW008 too large, HW014 not an object, or a number in it that is out of the
range of a double or has more than 1000 decimals, 22P02, 22021 or 22003 not JSON.';

REVOKE ALL ON FUNCTION howdah.session_merge(uuid, bytea, jsonb, text[], integer) FROM PUBLIC;
