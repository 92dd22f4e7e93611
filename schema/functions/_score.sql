CREATE OR REPLACE FUNCTION howdah_internal._score(eviction text, salt bigint) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    -- Microseconds. A version is never less than the time of its write, and a
    -- read is noted to the minute: a write needs nothing more.
    recency CONSTANT text := 'greatest(c.version, c.accessed * 60000000::bigint)';
    minute  CONSTANT bigint := extract(epoch FROM statement_timestamp())::bigint / 60;
BEGIN
    RETURN CASE split_part(eviction, '-', 2)
        WHEN 'lru' THEN recency
        -- As Redis: new entries begin at 5, and lose one for each idle minute.
        -- Of equals the one that was idle for longer goes first.
        WHEN 'lfu' THEN format(
            '(greatest(0, 5 + c.frequency - greatest(0, %1$s - %2$s / 60000000)) << 33) + %2$s / 1000000', minute, recency)
        WHEN 'ttl' THEN
            'CASE WHEN c.expires_at < ''infinity'' THEN (extract(epoch FROM c.expires_at) * 1000000)::bigint'
            ' ELSE 9223372036854775807 END'
        ELSE format('hashint8(c.hash # %s)::bigint', salt)
    END;
END
$$;

COMMENT ON FUNCTION howdah_internal._score(text, bigint) IS
'Internal. The expression by which an eviction policy ranks the rows of a cache
"c", the lowest first to go. The salt shuffles the random policies.';

REVOKE ALL ON FUNCTION howdah_internal._score(text, bigint) FROM PUBLIC;
