CREATE OR REPLACE FUNCTION howdah.watches() RETURNS TABLE (
    relation   text,
    cache      text,
    key        text,
    tag        text,
    state      text,
    created_at timestamptz,
    failures   bigint,
    failed_at  timestamptz,
    failure    text
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT w.shown, w.cache, d.key, d.tag,
           CASE WHEN w.relation IS NULL THEN 'table gone'
                WHEN NOT EXISTS (SELECT FROM howdah_internal.cache AS c WHERE coalesce(c.whole, c.name) = w.cache) THEN 'cache gone'
                WHEN NOT w.able THEN 'no rights'
                WHEN w.disabled IS NOT NULL OR cardinality(w.triggers) < 4 THEN 'disabled'
                ELSE 'active' END,
           d.created_at, coalesce(d.failures, 0), d.failed_at, d.failure
    FROM howdah_internal._watches() AS w
    LEFT JOIN howdah_internal.watch AS d ON d.id = w.id
    ORDER BY w.shown, w.cache
$$;

COMMENT ON FUNCTION howdah.watches() IS
'The watches of tables.

relation: the table, under the name that it has now; of a table that is gone, the one
that it had.
cache: the cache whose entries it invalidates.
key, tag: the expressions. NULL both: a watch that came with a restored table and was
made in another database.
state: active; disabled: some of its triggers are off or gone; no rights: the owner
of its function may not use the caches any more; cache gone; table gone. Only an active
one invalidates all that it should.
created_at: when it was made.
failures, failed_at, failure: how many transactions invalidated the whole cache because an
expression failed, when the last one was, and why. Some are not counted while several
fail at once.';

REVOKE ALL ON FUNCTION howdah.watches() FROM PUBLIC;
