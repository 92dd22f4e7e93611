-- The live key whose hash follows a number, the first of all at the end.
--   $1 number, of 63 bits
(SELECT key FROM {table} WHERE hash >= $1::bigint AND expires_at > statement_timestamp(){and_here} ORDER BY hash LIMIT 1)
UNION ALL
(SELECT key FROM {table} WHERE hash < $1 AND expires_at > statement_timestamp(){and_here} ORDER BY hash LIMIT 1)
LIMIT 1
