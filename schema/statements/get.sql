-- Values of live entries, NULL for what is no string. The caller compares the key:
-- another key may hold the slot of the same hash.
--   $1 hashes
SELECT hash, key, CASE WHEN kind = 0::smallint THEN value END
FROM {table}
WHERE hash = ANY ($1::bigint[])
  AND expires_at > statement_timestamp(){and_here}
