CREATE OR REPLACE FUNCTION howdah_internal._note_watch(watch text, cache text, keys bytea[], tags text[], failure text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    everything CONSTANT boolean := (cardinality(keys) <= 1000 AND cardinality(tags) <= 1000) IS NOT TRUE;
BEGIN
    INSERT INTO howdah_internal.watch_note (watch, cache, keys, tags, failure)
    VALUES (watch, cache, CASE WHEN NOT everything THEN keys END, CASE WHEN NOT everything THEN tags END, left(failure, 500));
END
$$;

COMMENT ON FUNCTION howdah_internal._note_watch(text, text, bytea[], text[], text) IS
'Internal. The functions of watches call it, and those are never upgraded: it keeps
its name and its arguments, and there is no other of that name. Notes what a statement on a watched table invalidates when
its transaction commits. keys or tags NULL, or more than 1,000: every entry of the cache.';

REVOKE ALL ON FUNCTION howdah_internal._note_watch(text, text, bytea[], text[], text) FROM PUBLIC;
