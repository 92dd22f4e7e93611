CREATE OR REPLACE FUNCTION howdah_internal._split(cache text, keys bytea[], "values" bytea[] DEFAULT NULL)
RETURNS TABLE (part text, keys_of_it bytea[], values_of_it bytea[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT cache || '/' || lpad(i.number::text, 2, '0'),
           array_agg(i.key ORDER BY i.place), array_agg(i.value ORDER BY i.place)
    FROM (SELECT howdah_internal._partition(howdah_internal._check_key(u.key)) AS number, u.key, u.value, u.place
          FROM unnest(keys, "values") WITH ORDINALITY AS u (key, value, place)) AS i
    GROUP BY i.number
    ORDER BY i.number;
END;

COMMENT ON FUNCTION howdah_internal._split(text, bytea[], bytea[]) IS
'Internal. Keys, and the values that go with them, by the partitions of a cache that has
some: a row for each partition that has any of them, in the order of the partitions. Raises HW007 (a key is too long) or HW012 (NULL).';

REVOKE ALL ON FUNCTION howdah_internal._split(text, bytea[], bytea[]) FROM PUBLIC;
