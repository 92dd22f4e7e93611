-- 7b and 7d are braces.
CREATE OR REPLACE FUNCTION howdah_internal._hash_tag(key bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN position('\x7d'::bytea IN substring(key FROM nullif(position('\x7b'::bytea IN key), 0) + 1)) > 1
            THEN substring(key FROM position('\x7b'::bytea IN key) + 1
                           FOR position('\x7d'::bytea IN substring(key FROM position('\x7b'::bytea IN key) + 1)) - 1)
            ELSE key END;

COMMENT ON FUNCTION howdah_internal._hash_tag(bytea) IS
'Internal. The part of a key that says in which partition it is, by the rule of Redis
Cluster: what is between the first { and the first } after it, if that is not empty; else
the whole key.';

REVOKE ALL ON FUNCTION howdah_internal._hash_tag(bytea) FROM PUBLIC;
