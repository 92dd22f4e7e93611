-- Changes the settings that are not NULL, and resets those that $13 names.
SELECT howdah.alter_cache(
    name         => $1::text,
    durability   => $2::text,
    default_ttl  => $3::interval,
    max_ttl      => $4::interval,
    max_bytes    => $5::bigint,
    max_entries  => $6::bigint,
    eviction     => $7::text,
    prefix_index => $8::boolean,
    ttl_jitter   => $9::integer,
    fillfactor   => $10::integer,
    near         => $11::boolean,
    log_keys     => $12::boolean,
    reset        => $13::text[],
    empty        => $14::boolean)
