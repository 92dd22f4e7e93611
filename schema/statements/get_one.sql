-- As get, for one key.
--   $1 hash
SELECT hash, key, CASE WHEN kind = 0::smallint THEN value END
FROM {table}
WHERE hash = $1::bigint
  AND expires_at > statement_timestamp(){and_here}
