-- Divides the keys of every cache into this many partitions.
SELECT howdah_internal._divide({partitions});
