CREATE OR REPLACE FUNCTION howdah_internal._create_view(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    name  CONSTANT text := format('howdah.%I', 'cache_' || howdah_internal._shown_name(settings));
    parts CONSTANT text := (
        SELECT string_agg(format($sql$
            SELECT c.key, c.value, c.kind, c.version,
                   nullif(c.expires_at, 'infinity') AS expires_at,
                   CASE WHEN c.accessed > 0 THEN to_timestamp(c.accessed * 60::double precision) END AS accessed_at,
                   c.frequency
            FROM %s AS c
            WHERE c.expires_at > statement_timestamp()
            $sql$, howdah_internal._table(howdah_internal._named(p))), 'UNION ALL' ORDER BY p.partition)
        FROM howdah_internal._partitions(howdah_internal._shown_name(settings)) AS p);
BEGIN
    EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', name, parts);
    PERFORM howdah_internal._own_table(name);
    EXECUTE format('COMMENT ON VIEW %s IS %L', name,
                   'The live entries of the cache, to look at. It cannot be written.');
    -- Citus refuses writes by itself, and would come to no end with a trigger.
    IF settings.shard IS NOT NULL THEN
        RETURN;
    END IF;
    -- OR REPLACE comes with PostgreSQL 14, and says nothing of a trigger that was not there.
    EXECUTE format('CREATE OR REPLACE TRIGGER read_only INSTEAD OF INSERT OR UPDATE OR DELETE ON %s '
                   'FOR EACH ROW EXECUTE FUNCTION howdah_internal._refuse_write()', name);
END
$$;

COMMENT ON FUNCTION howdah_internal._create_view(howdah_internal.cache) IS
'Internal. Makes the view of a cache, of all its partitions, for people: without the hash, which statements
of older programs need, and read-only also for the owner.';

REVOKE ALL ON FUNCTION howdah_internal._create_view(howdah_internal.cache) FROM PUBLIC;
