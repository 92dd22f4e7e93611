-- TTLs that are spread, and upkeep that leaves standbys time.

-- Per cent: a TTL that comes with a value is shortened at random by up to so
-- much, so that what is stored together does not expire together.
ALTER TABLE howdah.cache ADD COLUMN ttl_jitter integer NOT NULL DEFAULT 0
    CHECK (ttl_jitter BETWEEN 0 AND 90);

COMMENT ON COLUMN howdah.cache.ttl_jitter IS
    'By how many per cent, at most, the TTL of a stored value is shortened at random.';

-- Sessions have a row of their own beside the caches: no cache can be called
-- "howdah.session".
ALTER TABLE howdah.upkeep ADD COLUMN held_back_since timestamptz;

COMMENT ON TABLE howdah.upkeep IS
    'One row per cache, and one for howdah.session: what howdah.maintain found and did. entries and bytes are estimates, and NULL without a budget.';
COMMENT ON COLUMN howdah.upkeep.held_back_since IS
    'Since when expiry is slowed down because a standby or a replication slot is far behind. NULL: it is not.';

-- Functions whose arguments or results change. Those of this program's version
-- are made after the migrations.
DROP FUNCTION IF EXISTS
    howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean),
    howdah.alter_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, text[], boolean),
    howdah.caches(),
    howdah.maintain(text, integer, integer, interval),
    howdah._maintain(howdah.cache, bigint, bigint, timestamptz);
