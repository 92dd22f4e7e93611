-- The tables that every later part stands on. The migrating role owns them.

-- One row per migration. "breaking" tells older programs to stop.
CREATE TABLE howdah.migration (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    breaking   boolean     NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT statement_timestamp()
);

COMMENT ON TABLE howdah.migration IS
    'One row per applied migration of the Howdah schema.';

-- Facts of this database, one row. The seed goes into the hash of every key,
-- so that nobody outside can construct keys that collide. It must never change
-- while entries exist. "functions" numbers the set of functions, which is
-- replaced as a whole; "functions_digest" is the SHA-256 of its text.
CREATE TABLE howdah.meta (
    singleton        boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    seed             bytea   NOT NULL CHECK (octet_length(seed) = 16),
    functions        integer NOT NULL DEFAULT 0,
    functions_digest text    NOT NULL DEFAULT ''
);

COMMENT ON TABLE howdah.meta IS
    'One row: the seed of key hashes, and which functions are installed.';
COMMENT ON COLUMN howdah.meta.seed IS
    'Secret of this database; it goes into the hash of every key. Never change it while entries exist.';

-- A random UUID holds 122 random bits: enough to keep hashes unpredictable,
-- and in PostgreSQL without an extension.
INSERT INTO howdah.meta (seed)
VALUES (decode(replace(gen_random_uuid()::text, '-', ''), 'hex'));

-- The caches: each is a table howdah.cache_<name> with these settings.
-- A name ending in _pkey or _prefix would meet the index of another cache.
CREATE TABLE howdah.cache (
    name         text        PRIMARY KEY
                             CHECK (name ~ '^[a-z][a-z0-9_]{0,47}$'
                                    AND name !~ '_(pkey|prefix)$'),
    durability   text        NOT NULL DEFAULT 'unlogged'
                             CHECK (durability IN ('unlogged', 'async', 'sync')),
    default_ttl  interval    CHECK (default_ttl > interval '0'),
    max_ttl      interval    CHECK (max_ttl > interval '0'),
    max_bytes    bigint      CHECK (max_bytes > 0),
    max_entries  bigint      CHECK (max_entries > 0),
    eviction     text        NOT NULL DEFAULT 'allkeys-lru'
                             CHECK (eviction IN (
                                 'noeviction',
                                 'allkeys-lru', 'allkeys-lfu', 'allkeys-random',
                                 'volatile-lru', 'volatile-lfu',
                                 'volatile-random', 'volatile-ttl')),
    fillfactor   integer     NOT NULL DEFAULT 85
                             CHECK (fillfactor BETWEEN 10 AND 100),
    prefix_index boolean     NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL DEFAULT statement_timestamp()
);

COMMENT ON TABLE howdah.cache IS
    'The caches and their settings. Change it through howdah.create_cache, howdah.alter_cache and howdah.drop_cache only.';

-- The roles that run applications: what create_cache makes is granted to them.
CREATE TABLE howdah.runtime_role (
    role name PRIMARY KEY
);

COMMENT ON TABLE howdah.runtime_role IS
    'Roles that howdah.grant_runtime was called for; new caches are granted to them too.';
