-- The epoch of the UNLOGGED caches, as it was and as it is, and which keyspace events are
-- published. The statement's snapshot still shows the former epoch.
SELECT (SELECT epoch FROM howdah.epoch), howdah_internal._detect_reset(),
       coalesce((SELECT events FROM howdah_internal.notification), '')
