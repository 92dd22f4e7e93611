-- The epoch of the UNLOGGED caches, as it was and as it is. The statement's
-- snapshot still shows the former.
SELECT (SELECT epoch FROM howdah.epoch), howdah_internal._detect_reset()
