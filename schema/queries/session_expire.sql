-- One round of removing expired sessions: how many, and whether there may be more
-- to remove at once.
SELECT expired, more
FROM howdah.session_expire()
