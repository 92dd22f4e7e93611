CREATE OR REPLACE FUNCTION howdah_internal._session_merge(payload bytea, fields jsonb, remove text[], max_bytes integer)
RETURNS bytea
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    old    jsonb := CASE WHEN octet_length(payload) = 0 THEN '{}' ELSE convert_from(payload, 'UTF8')::jsonb END;
    new    jsonb;
    merged bytea;
BEGIN
    IF jsonb_typeof(old) <> 'object' OR jsonb_typeof(fields) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'The % is no JSON object.', CASE WHEN jsonb_typeof(old) <> 'object' THEN 'payload' ELSE 'argument fields' END
            USING ERRCODE = 'HW014', HINT = 'Replace the whole payload with howdah.session_save.';
    END IF;
    new := (old - coalesce(remove, '{}')) || fields;
    -- jsonb keeps 1e131071 in a few bytes and writes it with all its digits: a
    -- small payload could take a backend's memory before its length is known.
    IF EXISTS (SELECT FROM jsonb_path_query(new, 'strict $.** ? (@.type() == "number")') AS n
               WHERE abs(n::numeric) >= 1e309 OR scale(n::numeric) > 1000) THEN
        RAISE EXCEPTION 'A number in the payload is out of the range of a double, or has more than 1000 decimals.'
            USING ERRCODE = 'HW014', HINT = 'Give it as a string, or replace the whole payload with howdah.session_save.';
    END IF;
    merged := convert_to(new::text, 'UTF8');
    IF octet_length(merged) > max_bytes THEN
        RAISE EXCEPTION 'The payload would be % bytes long; the longest is % bytes.', octet_length(merged), max_bytes
            USING ERRCODE = 'HW008', HINT = 'Keep large objects elsewhere and their keys in the session.';
    END IF;
    RETURN merged;
END
$$;

COMMENT ON FUNCTION howdah_internal._session_merge(bytea, jsonb, text[], integer) IS
'Internal. A JSON object without the fields to remove and with the fields to set.
Raises HW008, HW014, and 22P02, 22021 or 22003 for a payload that is no JSON.';

REVOKE ALL ON FUNCTION howdah_internal._session_merge(bytea, jsonb, text[], integer) FROM PUBLIC;
