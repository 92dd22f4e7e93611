-- Where the partitions are, if Citus has placed them.
SELECT partition, server, host, port FROM howdah_internal._places()
