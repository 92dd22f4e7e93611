-- Live keys by prefix; the comparisons let a prefix index serve.
--   $1 prefix, $2 what follows its first 1024 bytes (NULL: nothing does)
SELECT key
FROM {table}
WHERE expires_at > statement_timestamp(){and_here}
  AND ($2::bytea IS NULL OR substring(key FROM 1 FOR 1024) < $2)
  AND substring(key FROM 1 FOR 1024) >= substring($1::bytea FROM 1 FOR 1024)
  AND substring(key FROM 1 FOR octet_length($1)) = $1
