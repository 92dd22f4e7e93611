-- The processes that want messages of others and have said so within 15 seconds, the
-- first ones first: number, name, whether notifications reach it (or would, if fewer
-- messages came), subscribers, clients that wait for a key, since when, and when it said
-- so last.
SELECT s.id, s.name, s.notified OR s.rushing, s.subscribers, s.waiters, s.started_at, s.renewed_at
FROM howdah_internal.server AS s
WHERE s.renewed_at > statement_timestamp() - interval '15 seconds'
ORDER BY s.started_at, s.id
LIMIT 1000
