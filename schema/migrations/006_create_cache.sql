-- create_cache takes one more argument and has a result. Functions of this
-- program's version are made after the migrations.
DROP FUNCTION IF EXISTS
    howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, integer);
