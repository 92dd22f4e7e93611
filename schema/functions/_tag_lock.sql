CREATE OR REPLACE FUNCTION howdah_internal._tag_lock(id integer, tag bigint) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ((id & 8388607) << 8) | (tag & 255)::integer;

COMMENT ON FUNCTION howdah_internal._tag_lock(integer, bigint) IS
'Internal. The second key of the advisory lock of a tag; the first is 1752135540
("howt" in ASCII). An invalidation holds the lock alone, stores of entries with the tag
share it, each to the end of its transaction. The tags of a cache share 256 locks, for
the table of locks of a server has room for some thousands.

id: of the cache.
tag: the hash of the tag.';

REVOKE ALL ON FUNCTION howdah_internal._tag_lock(integer, bigint) FROM PUBLIC;
