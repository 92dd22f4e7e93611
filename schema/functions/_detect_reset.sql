CREATE OR REPLACE FUNCTION howdah_internal._detect_reset() RETURNS bigint
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    result bigint := (SELECT b.epoch FROM howdah.beacon AS b);
BEGIN
    IF NOT EXISTS (SELECT FROM howdah_internal.change_state) THEN
        INSERT INTO howdah_internal.change_state DEFAULT VALUES ON CONFLICT DO NOTHING;
    END IF;
    IF result = (SELECT e.epoch FROM howdah.epoch AS e) THEN
        RETURN result;
    END IF;
    -- Of several that see it, the first counts it: the lock makes the others
    -- wait until the beacon is lit.
    PERFORM FROM howdah.epoch AS e FOR UPDATE;
    IF EXISTS (SELECT FROM howdah.beacon AS b JOIN howdah.epoch AS e ON e.epoch = b.epoch) THEN
        RETURN (SELECT e.epoch FROM howdah.epoch AS e);
    END IF;
    UPDATE howdah.epoch AS e SET epoch = e.epoch + 1, since = statement_timestamp()
    RETURNING e.epoch INTO result;
    INSERT INTO howdah.beacon AS b (epoch) VALUES (result)
    ON CONFLICT (singleton) DO UPDATE SET epoch = excluded.epoch;
    RETURN result;
END
$$;

COMMENT ON FUNCTION howdah_internal._detect_reset() IS
'Internal. Returns the epoch of the UNLOGGED caches; a new one if a crash, a
failover or a restore has emptied them since it was last asked. It also begins a new
life of the change log, which was emptied with them.';

REVOKE ALL ON FUNCTION howdah_internal._detect_reset() FROM PUBLIC;
