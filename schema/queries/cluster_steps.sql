-- The statements by which Citus takes the tables that it has not yet, in their order.
SELECT s FROM howdah_internal._place_steps() AS s
