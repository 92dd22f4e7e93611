CREATE OR REPLACE FUNCTION howdah.no_expiry() RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN interval '1000 years';

COMMENT ON FUNCTION howdah.no_expiry() IS
'The TTL that means "does not expire": 1000 years. As an argument every interval
that long or longer means the same; as an answer of howdah.ttl and
howdah.get_entry it says that the entry does not expire.';

REVOKE ALL ON FUNCTION howdah.no_expiry() FROM PUBLIC;
