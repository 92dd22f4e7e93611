CREATE OR REPLACE FUNCTION howdah_internal._wants_events(class text) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (
    SELECT
    FROM howdah_internal.notification AS n
    WHERE n.events ~ '[KE]'
      AND (strpos(n.events, class) > 0 OR strpos(n.events, 'A') > 0 AND class NOT IN ('n', 'm')))
-- 1 is the kind of published messages: see howdah_internal.bus.
AND EXISTS (
    SELECT
    FROM howdah_internal.server AS s
    WHERE s.kinds & (1 << 1) <> 0 AND s.renewed_at > statement_timestamp() - interval '15 seconds');

COMMENT ON FUNCTION howdah_internal._wants_events(text) IS
'Internal. Whether events of a class are published, and a process wants messages. class is
a letter of notify-keyspace-events.';

REVOKE ALL ON FUNCTION howdah_internal._wants_events(text) FROM PUBLIC;
