-- After "transfer": the copy gets the tags of the original, in the same transaction.
--   $1 hash of the source, $2 hash of the target
SELECT howdah_internal._copy_tags({source_cache}, $1::bigint, {cache}, $2::bigint)
