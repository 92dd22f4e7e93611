-- Publishes events when the transaction commits, in their order.
--   $1 the name of the cache; of each event: $2 the letter of its class, $3 its name, $4 the key
SELECT howdah_internal._announce($1::text, u.class, u.event, ARRAY[u.key])
FROM unnest($2::text[], $3::text[], $4::bytea[]) AS u (class, event, key)
