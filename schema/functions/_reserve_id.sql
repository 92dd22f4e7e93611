CREATE OR REPLACE FUNCTION howdah_internal._reserve_id(cache text, id integer, number integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    ids    CONSTANT text := pg_get_serial_sequence('howdah_internal.cache', 'id');
    lowest bigint;
BEGIN
    lowest := greatest(nextval(ids), (SELECT max(c.id) + 1::bigint FROM howdah_internal.cache AS c));
    IF id < lowest OR id > 1000000001 - number THEN
        RAISE EXCEPTION 'Cache % cannot have the id %.', quote_literal(cache), id
            USING ERRCODE = 'HW004',
                  HINT = CASE
                      WHEN id <= 0 OR id > 1000000001 - number THEN format('id must be from 1 to %s, or NULL for the next one.', 1000000001 - number)
                      ELSE format('Each id is used once in a database, also after its cache was dropped: choose %s or more.', lowest)
                  END;
    END IF;
    PERFORM setval(ids, id + number - 1);
END
$$;

COMMENT ON FUNCTION howdah_internal._reserve_id(text, integer, integer) IS
'Internal. Takes ids out of those that are drawn: the one that the caller chose for a cache and,
if it has several partitions, those that follow.
A program may still hold statements for the table of a cache that was dropped, so an
id below one that was drawn is refused. The caller holds howdah_internal.cache in
SHARE ROW EXCLUSIVE mode: otherwise setval could put back what others draw meanwhile.';

REVOKE ALL ON FUNCTION howdah_internal._reserve_id(text, integer, integer) FROM PUBLIC;
