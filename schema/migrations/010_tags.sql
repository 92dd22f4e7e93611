-- Tags: which entries of a cache are removed when a tag is invalidated. Each cache has
-- a table for them, which howdah_internal._create_tags makes after all functions, for
-- the caches that exist already too. Entries without tags never touch it.

-- Where the sweep of the tags of a cache goes on: a block of their table.
ALTER TABLE howdah.upkeep ADD COLUMN tag_hand bigint NOT NULL DEFAULT 0;
