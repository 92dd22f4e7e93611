-- Notes what Citus has placed.
SELECT howdah_internal._note_places()
