-- What goes into the hash of every key, and into how many partitions the keys are divided.
SELECT seed, partitions FROM howdah.meta
