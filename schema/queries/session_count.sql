-- How many live sessions there are. It reads the whole table.
SELECT howdah.session_count()
