CREATE OR REPLACE FUNCTION howdah.unwatch_table(relation text, cache text) RETURNS boolean
LANGUAGE sql VOLATILE
-- Without a search_path of its own: that of the caller says which table a name means.
RETURN howdah_internal._unwatch(relation, pg_catalog.to_regclass(
           CASE WHEN relation OPERATOR(pg_catalog.~) '^[0-9]+$' THEN relation::pg_catalog.oid::pg_catalog.regclass::text ELSE relation END), cache,
           pg_catalog.current_schemas(false));

COMMENT ON FUNCTION howdah.unwatch_table(text, text) IS
'Ends the watch of a table. Only the owner of the table may.

relation: the table, as howdah.watch_table takes it: ''public.articles'', ''articles'' if its schema is in
the search_path, ''public."Articles"'', or its OID as text. A table that was dropped goes by the
name that it had.
cache: the cache whose entries the watch invalidates.

Returns true if there was such a watch.
Errors: 42501 no privilege, 42602 not a name, 55P03 in use.';

REVOKE ALL ON FUNCTION howdah.unwatch_table(text, text) FROM PUBLIC;
