CREATE OR REPLACE FUNCTION howdah.delete_prefix(cache text, prefix bytea, max_rows integer DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache;
    indexed  CONSTANT bytea := substring(howdah_internal._check_key(prefix) FROM 1 FOR 1024);
    matches  text;
    hashes   bigint[];
    deleted  bigint;
    gone     bytea[];  -- the keys that were there, if that is an event
    noted    bytea[];  -- the keys for the change log, if it has keys
    result   bigint := 0;
BEGIN
    IF max_rows < 1 THEN
        RAISE EXCEPTION 'The limit max_rows = % is not positive.', max_rows
            USING ERRCODE = 'HW012', HINT = 'Give a positive number, or NULL for no limit.';
    END IF;
    FOR settings IN SELECT p.* FROM howdah_internal._partitions(cache) AS p LOOP
        PERFORM howdah_internal._stay(settings);
        EXIT WHEN result >= max_rows;
        matches := 'substring(c.key FROM 1 FOR octet_length($1)) = $1';
        IF settings.prefix_index THEN
            matches := matches || ' AND substring(c.key FROM 1 FOR 1024) >= $2';
            IF howdah_internal._prefix_end(indexed) IS NOT NULL THEN
                matches := matches || ' AND substring(c.key FROM 1 FOR 1024) < $3';
            END IF;
        END IF;

        -- Locks first, by hash: the order of every statement on many rows.
        EXECUTE format($sql$
            WITH doomed AS MATERIALIZED (
                SELECT c.hash
                FROM %1$s AS c
                WHERE %2$s
                  AND ($4 IS NULL OR c.expires_at <= statement_timestamp() OR c.hash IN (
                           SELECT c.hash
                           FROM %1$s AS c
                           WHERE %2$s AND c.expires_at > statement_timestamp()
                           ORDER BY c.hash
                           LIMIT $4))
                ORDER BY c.hash
                FOR UPDATE
            ), gone AS (
                DELETE FROM %1$s AS c WHERE c.hash = ANY (ARRAY(SELECT d.hash FROM doomed AS d))
                RETURNING c.hash, c.key, c.expires_at > statement_timestamp() AS live
            )
            SELECT array_agg(g.hash), count(*) FILTER (WHERE g.live), array_agg(g.key) FILTER (WHERE g.live AND $5),
                   array_agg(g.key) FILTER (WHERE $6)
            FROM gone AS g
            $sql$, howdah_internal._table(settings), matches)
        INTO hashes, deleted, gone, noted
        USING prefix, indexed, howdah_internal._prefix_end(indexed), max_rows - result, settings.events,
              'log_keys' = ANY (settings.features);
        PERFORM howdah_internal._log(settings, coalesce(hashes, '{}'), noted);
        PERFORM howdah_internal._announce(howdah_internal._shown_name(settings), 'g', 'del', gone) WHERE gone IS NOT NULL;
        result := result + deleted;
    END LOOP;
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah.delete_prefix(text, bytea, integer) IS
'Removes the keys that begin with a prefix, and the rows of expired entries with
them. Without a prefix index (see howdah.create_cache) it reads the whole table.

cache: the name of a cache.
prefix: any bytes, compared as bytes: no character is special. The empty prefix
is every key.
max_rows: at most so many keys; call again until it returns less. NULL: all.

Returns how many keys it removed; expired entries do not count.
Errors: HW001 cache not found, HW007 prefix too long, HW012 NULL or max_rows not
positive.';

REVOKE ALL ON FUNCTION howdah.delete_prefix(text, bytea, integer) FROM PUBLIC;
