CREATE OR REPLACE FUNCTION howdah_internal._collection(cache text, key bytea, kind smallint) RETURNS bytea
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    settings howdah_internal.cache := howdah_internal._settings(cache, key);
    result   bytea;
    found    smallint;  -- the kind that is there
BEGIN
    -- || '': the value in memory, not a pointer that each access to a byte would follow
    -- to the disk.
    EXECUTE format($sql$
        SELECT CASE WHEN c.kind = $3 THEN c.value || ''::bytea END, c.kind
        FROM %s AS c
        WHERE c.hash = $1 AND c.key = $2 AND c.expires_at > statement_timestamp()
        ORDER BY c.version DESC  -- REPEATABLE READ may show an old row beside the own one
        LIMIT 1
        $sql$, howdah_internal._table(settings))
    INTO result, found
    USING howdah.key_hash(howdah_internal._check_key(key)), key, kind;
    -- Raised here, not in the statement, whose text PostgreSQL would add to the error.
    IF found <> kind THEN
        PERFORM howdah_internal._refuse_kind(found);
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah_internal._collection(text, bytea, smallint) IS
'Internal. The packed value of a collection, NULL if the key is absent, or HW018 if it
holds another kind.';

REVOKE ALL ON FUNCTION howdah_internal._collection(text, bytea, smallint) FROM PUBLIC;
