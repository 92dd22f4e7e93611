CREATE OR REPLACE FUNCTION howdah_internal._check_settings(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    policies CONSTANT text[] := ARRAY[
        'noeviction', 'allkeys-lru', 'allkeys-lfu', 'allkeys-random',
        'volatile-lru', 'volatile-lfu', 'volatile-random', 'volatile-ttl'];
    problem text;
BEGIN
    problem := CASE
        WHEN settings.durability IS NULL OR settings.durability <> ALL ('{unlogged,async,sync}') THEN
            'durability must be unlogged, async or sync'
        WHEN settings.default_ttl <= interval '0' THEN
            'default_ttl must be positive, or NULL for none'
        WHEN settings.max_ttl <= interval '0' THEN
            'max_ttl must be positive, or NULL for none'
        WHEN settings.default_ttl > settings.max_ttl THEN
            'default_ttl must not exceed max_ttl'
        WHEN settings.max_bytes <= 0 THEN
            'max_bytes must be positive, or NULL for no limit'
        WHEN settings.max_entries <= 0 THEN
            'max_entries must be positive, or NULL for no limit'
        WHEN settings.eviction IS NULL OR settings.eviction <> ALL (policies) THEN
            'eviction must be one of ' || array_to_string(policies, ', ')
        WHEN settings.fillfactor IS NULL OR settings.fillfactor NOT BETWEEN 10 AND 100 THEN
            'fillfactor must be a percentage from 10 to 100'
        WHEN settings.ttl_jitter IS NULL OR settings.ttl_jitter NOT BETWEEN 0 AND 90 THEN
            'ttl_jitter must be a percentage from 0 to 90'
        WHEN settings.prefix_index IS NULL THEN
            'prefix_index must be true or false'
        WHEN 'log_keys' = ANY (settings.features) AND 'near' <> ALL (settings.features) THEN
            'log_keys needs near => true'
    END;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION 'A setting of cache % is invalid.', quote_literal(settings.name)
            USING ERRCODE = 'HW004', HINT = problem || '.';
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._check_settings(howdah_internal.cache) IS
'Internal. Raises HW004 with the first setting that is invalid.';

REVOKE ALL ON FUNCTION howdah_internal._check_settings(howdah_internal.cache) FROM PUBLIC;
