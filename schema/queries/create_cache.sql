-- Makes a cache. Empty texts, and zeros of what may not be zero, are the defaults.
SELECT howdah.create_cache(
    name         => $1::text,
    durability   => coalesce(nullif($2::text, ''), 'unlogged'),
    default_ttl  => $3::interval,
    max_ttl      => $4::interval,
    max_bytes    => nullif($5::bigint, 0),
    max_entries  => nullif($6::bigint, 0),
    eviction     => coalesce(nullif($7::text, ''), 'allkeys-lru'),
    prefix_index => $8::boolean,
    ttl_jitter   => $9::integer,
    fillfactor   => coalesce(nullif($10::integer, 0), 85),
    near         => $11::boolean,
    log_keys     => $12::boolean)
