CREATE OR REPLACE FUNCTION howdah_internal._alter_mode(before howdah_internal.cache, after howdah_internal.cache, empty boolean) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN empty OR (after.durability = 'unlogged') <> (before.durability = 'unlogged') 
         OR ('near' = ANY (after.features), 'log_keys' = ANY (after.features)) <> ('near' = ANY (before.features), 'log_keys' = ANY (before.features))
         OR before.prefix_index AND NOT after.prefix_index THEN 'ACCESS EXCLUSIVE'
    WHEN after.prefix_index AND NOT before.prefix_index THEN 'SHARE'
    WHEN after.fillfactor <> before.fillfactor THEN 'SHARE UPDATE EXCLUSIVE'
    ELSE 'ACCESS SHARE' END;

COMMENT ON FUNCTION howdah_internal._alter_mode(howdah_internal.cache, howdah_internal.cache, boolean) IS
'Internal. The strongest lock that _alter_part needs, which howdah.alter_cache takes once.';

REVOKE ALL ON FUNCTION howdah_internal._alter_mode(howdah_internal.cache, howdah_internal.cache, boolean) FROM PUBLIC;
