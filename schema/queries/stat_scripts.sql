-- How many scripts the servers share, their bytes, and when the last one was loaded.
SELECT count(*), coalesce(sum(s.size), 0)::bigint, max(s.loaded_at)
FROM howdah_internal.script AS s
