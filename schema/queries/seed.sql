-- What goes into the hash of every key.
SELECT seed FROM howdah.meta
