-- Gives the tables of partitions on this server what Citus has left out.
SELECT howdah_internal._keep_toast()
