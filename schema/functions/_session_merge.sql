CREATE OR REPLACE FUNCTION howdah._session_merge(payload bytea, fields jsonb, remove text[], max_bytes integer)
RETURNS bytea
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    old    jsonb := CASE WHEN octet_length(payload) = 0 THEN '{}' ELSE convert_from(payload, 'UTF8')::jsonb END;
    merged bytea;
BEGIN
    IF jsonb_typeof(old) <> 'object' OR jsonb_typeof(fields) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'The % is no JSON object.', CASE WHEN jsonb_typeof(old) <> 'object' THEN 'payload' ELSE 'argument fields' END
            USING ERRCODE = 'HW014', HINT = 'Replace the whole payload with howdah.session_save.';
    END IF;
    merged := convert_to(((old - coalesce(remove, '{}')) || fields)::text, 'UTF8');
    IF octet_length(merged) > max_bytes THEN
        RAISE EXCEPTION 'The payload would be % bytes long; the longest is % bytes.', octet_length(merged), max_bytes
            USING ERRCODE = 'HW008', HINT = 'Keep large objects elsewhere and their keys in the session.';
    END IF;
    RETURN merged;
END
$$;

COMMENT ON FUNCTION howdah._session_merge(bytea, jsonb, text[], integer) IS
'Internal. A JSON object without the fields to remove and with the fields to set.
Raises HW008, HW014, and 22P02 or 22021 for a payload that is no JSON.';

REVOKE ALL ON FUNCTION howdah._session_merge(bytea, jsonb, text[], integer) FROM PUBLIC;
