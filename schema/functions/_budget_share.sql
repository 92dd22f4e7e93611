CREATE OR REPLACE FUNCTION howdah_internal._budget_share(budget bigint, partition integer, partitions integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN budget IS NOT NULL THEN
    greatest(1, budget / partitions + CASE WHEN partition < budget % partitions THEN 1 ELSE 0 END)
END;

COMMENT ON FUNCTION howdah_internal._budget_share(bigint, integer, integer) IS
'Internal. What a partition gets of the budget of a cache; at least 1. The shares add up to the
budget, unless it is less than one for each.';

REVOKE ALL ON FUNCTION howdah_internal._budget_share(bigint, integer, integer) FROM PUBLIC;
