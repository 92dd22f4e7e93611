-- howdah.create_cache takes an id. The functions of this program's version are made
-- after the migrations; with another list of arguments the former one would stay.
DROP FUNCTION IF EXISTS
    howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, integer, boolean, boolean);
