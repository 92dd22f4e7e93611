-- Starts a new life of the change log if a crash or a restore has emptied it.
INSERT INTO howdah_internal.change_state DEFAULT VALUES
ON CONFLICT DO NOTHING
