-- The change log may hold the keys of what was written, for caches with the feature
-- "log_keys": clients that are told of all keys with a prefix need them. A cache without
-- it writes as before, and a program that does not know it refuses only such a cache.

-- Keys of a large batch lie in the TOAST table, whose rows live as long as those of the
-- log: it is cleaned in the same way.
ALTER TABLE howdah_internal.change SET (
    toast.autovacuum_vacuum_threshold = 5000,
    toast.autovacuum_vacuum_scale_factor = 0,
    toast.autovacuum_vacuum_insert_threshold = -1,
    toast.autovacuum_vacuum_cost_delay = 1,
    toast.autovacuum_vacuum_cost_limit = 1000,
    toast.vacuum_truncate = off
);

-- Functions whose arguments or results change. Those of this program's version
-- are made after the migrations; with another list of arguments the former would stay.
DROP FUNCTION IF EXISTS
    howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, integer, boolean, boolean, integer),
    howdah.alter_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, text[], boolean, integer, boolean),
    howdah.caches(),
    howdah_internal._log(howdah_internal.cache, bigint[]);
