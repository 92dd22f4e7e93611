package howdah

import "github.com/howdah/howdah/internal/fault"

// The errors a caller tells apart with errors.Is. Every error that the
// library returns wraps at most one of them and reads as a sentence that says
// what to do.
var (
	// ErrMiss says that the key is absent or expired. It is an answer, not a
	// failure.
	ErrMiss = fault.ErrMiss

	// ErrNotStored says that a conditional write (Add, Replace, CompareAndSet,
	// CompareAndDelete, Rename and Copy with a condition) found its condition
	// unmet and changed nothing.
	ErrNotStored = fault.ErrNotStored

	// ErrNotInteger says that Increment met a value that is not a decimal
	// integer of 64 bits. The value is unchanged.
	ErrNotInteger = fault.ErrNotInteger

	// ErrOverflow says that Increment would leave the range of 64 bits. The
	// value is unchanged.
	ErrOverflow = fault.ErrOverflow

	// ErrNotFloat says that IncrementFloat met a value that is not a number,
	// or that its result is not finite. The value is unchanged.
	ErrNotFloat = fault.ErrNotFloat

	// ErrWrongType says that the key holds a hash, a list, a set or a sorted set,
	// and the operation is one on values: delete the key first, or use another one.
	// Nothing was changed.
	ErrWrongType = fault.ErrWrongType

	// ErrKeyTooLong says that a key exceeds MaxKeyBytes. Nothing was sent.
	ErrKeyTooLong = fault.ErrKeyTooLong

	// ErrValueTooLarge says that a value exceeds Options.MaxValueBytes, or that the keys and
	// values of one call are more than 960 MiB together.
	// Nothing was stored.
	ErrValueTooLarge = fault.ErrValueTooLarge

	// ErrInvalidTag says that a tag is empty, longer than MaxTagBytes or no text in
	// UTF-8, or that an entry has more than MaxTags. Nothing was sent.
	ErrInvalidTag = fault.ErrInvalidTag

	// ErrIsolation says that tags were used in a transaction of isolation level
	// REPEATABLE READ or SERIALIZABLE, as those of Transact are: it does not see
	// what others have stored or invalidated since it began. Or a transaction of such a
	// level wrote to a partition that Citus can move: Transact does, if TxOptions names
	// its keys.
	ErrIsolation = fault.ErrIsolation

	// ErrInvalidTTL says that a TTL is negative or beyond what a timestamp holds.
	ErrInvalidTTL = fault.ErrInvalidTTL

	// ErrCacheNotFound says that no cache of that name exists; make it with
	// SELECT howdah.create_cache('name') or DB.CreateCache.
	ErrCacheNotFound = fault.ErrCacheNotFound

	// ErrCacheExists says that CreateCache met a cache of that name.
	ErrCacheExists = fault.ErrCacheExists

	// ErrInvalidName says that a cache name is not lower-case letters, digits
	// and underscores, beginning with a letter, at most 48 long.
	ErrInvalidName = fault.ErrInvalidName

	// ErrInvalidSetting says that CreateCache or AlterCache was given a
	// setting that the database refused.
	ErrInvalidSetting = fault.ErrInvalidSetting

	// ErrCacheInUse says that AlterCache or DropCache waited in vain for a
	// transaction that uses the cache. Nothing was changed.
	ErrCacheInUse = fault.ErrCacheInUse

	// ErrCollision says that another live key holds the slot of this key's
	// 63-bit hash, in a cache of class sync, which never evicts for that.
	// The chance is about n/2^63 for each new key of n.
	ErrCollision = fault.ErrCollision

	// ErrCacheFull says that a cache with policy noeviction has no room
	// for a write.
	ErrCacheFull = fault.ErrCacheFull

	// ErrOverloaded says that the queue of waiting calls is full. Nothing was sent.
	ErrOverloaded = fault.ErrOverloaded

	// ErrUnavailable says that PostgreSQL could not be reached, or refused to
	// serve. Nothing was sent: any call may be repeated.
	ErrUnavailable = fault.ErrUnavailable

	// ErrUnknownOutcome says that the connection was lost, or the deadline
	// passed, after a write was sent: it may or may not have been applied. It is
	// not applied after a later write of its key by the same DB has succeeded.
	ErrUnknownOutcome = fault.ErrUnknownOutcome

	// ErrTimeout says that the call's deadline passed. A write was not applied.
	// It also matches context.DeadlineExceeded.
	ErrTimeout = fault.ErrTimeout

	// ErrSchemaMissing says that the database holds no Howdah schema, or one
	// too old for this program; run "howdah migrate".
	ErrSchemaMissing = fault.ErrSchemaMissing

	// ErrSchemaTooNew says that a newer Howdah has changed the schema in a
	// way this program cannot work with; upgrade the program.
	ErrSchemaTooNew = fault.ErrSchemaTooNew

	// ErrPermission says that the database role lacks a privilege; grant it
	// with "howdah migrate --runtime-role".
	ErrPermission = fault.ErrPermission

	// ErrClosed says that the DB was closed.
	ErrClosed = fault.ErrClosed

	// ErrNotRunning says that a subscription needs DB.Run, which does not run, or has
	// ended.
	ErrNotRunning = fault.ErrNotRunning

	// ErrWatch says that a key named in TxOptions.Watch has changed since its
	// version was read; the transaction did nothing.
	ErrWatch = fault.ErrWatch

	// ErrCrossPartition says that what must be one step has keys of several partitions;
	// see docs/scale-out.md. Nothing was done. Keys with the same hash tag, the part in
	// braces as in "{user:1}:name", are of one partition.
	ErrCrossPartition = fault.ErrCrossPartition
)
