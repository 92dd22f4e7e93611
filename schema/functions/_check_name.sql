CREATE OR REPLACE FUNCTION howdah_internal._check_name(name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF name ~ '^[a-z][a-z0-9_]{0,47}$' AND name !~ '_(pkey|prefix)$' THEN
        RETURN name;
    END IF;
    RAISE EXCEPTION '% is not a valid cache name.', coalesce(quote_literal(left(name, 64)), 'NULL')
        USING ERRCODE = 'HW002',
              HINT = 'Use lower-case letters, digits and underscores, beginning with a letter, at most 48, not ending in _pkey or _prefix.';
END
$$;

COMMENT ON FUNCTION howdah_internal._check_name(text) IS
'Internal. Returns the name of a cache, or raises HW002. _pkey and _prefix are
the endings of index names, which share a name space with tables.';

REVOKE ALL ON FUNCTION howdah_internal._check_name(text) FROM PUBLIC;
