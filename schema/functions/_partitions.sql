-- As text: a body that is parsed now would know the columns of today only.
CREATE OR REPLACE FUNCTION howdah_internal._partitions(cache text) RETURNS SETOF howdah_internal.cache
LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT c.* FROM howdah_internal.cache AS c
    WHERE c.name = _partitions.cache OR c.whole = _partitions.cache
    ORDER BY c.partition
$$;

COMMENT ON FUNCTION howdah_internal._partitions(text) IS
'Internal. The partitions of a cache in their order, which is the order in which everybody
locks what is in them; the cache itself if it has none. No row: there is no such cache, and
the caller raises what _no_cache raises.';

REVOKE ALL ON FUNCTION howdah_internal._partitions(text) FROM PUBLIC;
