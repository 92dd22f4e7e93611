CREATE OR REPLACE FUNCTION howdah._grant_upkeep(role name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON howdah.upkeep, howdah.beacon TO %I', role);
    EXECUTE format('GRANT SELECT, UPDATE ON howdah.leader, howdah.epoch TO %I', role);
    EXECUTE format('GRANT UPDATE (full_since) ON howdah.cache TO %I', role);
END
$$;

COMMENT ON FUNCTION howdah._grant_upkeep(name) IS
'Internal. Lets a role do the upkeep, with howdah.maintain.';

REVOKE ALL ON FUNCTION howdah._grant_upkeep(name) FROM PUBLIC;
