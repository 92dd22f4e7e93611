-- The processes that want messages of others and poll for them, because notifications do
-- not reach them: name, subscribers, clients that wait for a key, and for how many
-- seconds they have wanted messages. One that has not renewed its row has ended.
SELECT s.name, s.subscribers, s.waiters, extract(epoch FROM clock_timestamp() - s.started_at)::float8
FROM howdah_internal.server AS s
WHERE NOT s.notified AND NOT s.rushing AND s.renewed_at > statement_timestamp() - interval '15 seconds'
ORDER BY s.name, s.id
