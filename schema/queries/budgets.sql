-- The budgets of all caches, whether they are full, and what the last round of
-- upkeep estimated.
SELECT c.name, c.eviction, coalesce(c.max_entries, 0), coalesce(c.max_bytes, 0), c.full_since IS NOT NULL,
       coalesce(u.entries, 0), coalesce(u.bytes, 0)
FROM howdah_internal.cache AS c
LEFT JOIN howdah.upkeep AS u ON u.cache = c.name
