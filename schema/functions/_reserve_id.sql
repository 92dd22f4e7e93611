CREATE OR REPLACE FUNCTION howdah_internal._reserve_id(cache text, id integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    ids    CONSTANT text := pg_get_serial_sequence('howdah_internal.cache', 'id');
    lowest bigint;
BEGIN
    lowest := greatest(nextval(ids), (SELECT max(c.id) + 1::bigint FROM howdah_internal.cache AS c));
    IF id < lowest OR id > 1000000000 THEN
        RAISE EXCEPTION 'Cache % cannot have the id %.', quote_literal(cache), id
            USING ERRCODE = 'HW004',
                  HINT = CASE
                      WHEN id <= 0 OR id > 1000000000 THEN 'id must be from 1 to 1000000000, or NULL for the next one.'
                      ELSE format('Each id is used once in a database, also after its cache was dropped: choose %s or more.', lowest)
                  END;
    END IF;
    PERFORM setval(ids, id);
END
$$;

COMMENT ON FUNCTION howdah_internal._reserve_id(text, integer) IS
'Internal. Takes the id that the caller chose for a cache out of those that are drawn.
A program may still hold statements for the table of a cache that was dropped, so an
id below one that was drawn is refused. The caller holds howdah_internal.cache in
SHARE ROW EXCLUSIVE mode: otherwise setval could put back what others draw meanwhile.';

REVOKE ALL ON FUNCTION howdah_internal._reserve_id(text, integer) FROM PUBLIC;
