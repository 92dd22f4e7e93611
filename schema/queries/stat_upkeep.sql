-- Who leads upkeep and until when, how often UNLOGGED caches were found emptied,
-- since when they were not, and since when rows are held back.
SELECT l.holder, CASE WHEN isfinite(l.until) THEN l.until ELSE 'epoch' END, e.epoch - 1, e.since,
       (SELECT min(u.held_back_since) FROM howdah.upkeep AS u)
FROM howdah.leader AS l, howdah.epoch AS e
