CREATE OR REPLACE FUNCTION howdah_internal._refuse_write() RETURNS trigger
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION 'The view %.% shows a cache and cannot be written.', quote_ident(TG_TABLE_SCHEMA), quote_ident(TG_TABLE_NAME)
        USING ERRCODE = 'object_not_in_prerequisite_state',
              HINT = 'Store with howdah.set, remove with howdah.delete, howdah.delete_many or howdah.delete_prefix.';
END
$$;

COMMENT ON FUNCTION howdah_internal._refuse_write() IS
'Internal. The trigger of the view of a cache: raises 55000.';

REVOKE ALL ON FUNCTION howdah_internal._refuse_write() FROM PUBLIC;
