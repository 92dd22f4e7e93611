-- The watches of tables, at most a thousand, with the state that howdah.watches gives them.
SELECT w.relation, w.cache, coalesce(w.key, ''), coalesce(w.tag, ''), w.state, w.created_at,
       w.failures, w.failed_at, coalesce(w.failure, '')
FROM howdah.watches() AS w
LIMIT 1000
