-- Writes or renews the row of a process that wants messages of others.
--   $1 its id, $2 its name, $3 the kinds of messages, the sum of 2 ^ kind
--   $4 whether it is to be notified, $7 whether it would be if fewer messages came
--   $5 how many subscribers it has, $6 how many clients that wait for a key
WITH written AS (
    INSERT INTO howdah_internal.server AS s (id, name, kinds, notified, rushing, subscribers, waiters, tick)
    SELECT $1::bigint, $2::text, $3::integer, $4::boolean, $7::boolean, $5::integer, $6::integer,
           coalesce((SELECT c.tick FROM howdah_internal.change_state AS c), 0)
    ON CONFLICT (id) DO UPDATE
    SET kinds       = excluded.kinds,
        notified    = excluded.notified,
        rushing     = excluded.rushing,
        subscribers = excluded.subscribers,
        waiters     = excluded.waiters,
        tick        = excluded.tick,
        renewed_at  = statement_timestamp()
    RETURNING s.id
)
SELECT w.id, pg_catalog.set_config('synchronous_commit', 'off', true) FROM written AS w
