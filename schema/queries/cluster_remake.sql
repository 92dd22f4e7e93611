-- Makes the partitions again whose tables are gone.
SELECT howdah_internal._remake_parts()
