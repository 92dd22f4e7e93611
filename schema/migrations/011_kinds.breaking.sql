-- Entries that are no strings: the column "kind" is not always 0 any more. Programs
-- that do not know it would read such an entry as a string, and edit it. They refuse to
-- start from now on, and those that run refuse every cache when they read its
-- settings again, within 5 s, because each has a feature that they do not know.
UPDATE howdah_internal.cache
SET features = features || '{kinds}'
WHERE 'kinds' <> ALL (features);
