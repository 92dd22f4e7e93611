package howdah

import "errors"

// The errors a caller tells apart with errors.Is. Every error that the
// library returns wraps at most one of them and reads as a sentence that says
// what to do.
var (
	// ErrMiss says that the key is absent or expired. It is an answer, not a
	// failure.
	ErrMiss = errors.New("howdah: key not found")

	// ErrNotStored says that a conditional write (Add, Replace,
	// CompareAndSet, Store with a condition) found its condition unmet and
	// changed nothing.
	ErrNotStored = errors.New("howdah: condition not met, nothing stored")

	// ErrNotInteger says that Increment met a value that is not a decimal
	// integer of 64 bits. The value is unchanged.
	ErrNotInteger = errors.New("howdah: value is not an integer or out of range")

	// ErrOverflow says that Increment would leave the range of 64 bits. The
	// value is unchanged.
	ErrOverflow = errors.New("howdah: increment or decrement would overflow")

	// ErrNotFloat says that IncrementFloat met a value that is not a number,
	// or that its result is not finite. The value is unchanged.
	ErrNotFloat = errors.New("howdah: value is not a valid float")

	// ErrKeyTooLong says that a key exceeds MaxKeyBytes. Nothing was sent.
	ErrKeyTooLong = errors.New("howdah: key too long")

	// ErrValueTooLarge says that a value exceeds Options.MaxValueBytes.
	// Nothing was stored.
	ErrValueTooLarge = errors.New("howdah: value too large")

	// ErrInvalidTTL says that a TTL is negative or beyond what a timestamp holds.
	ErrInvalidTTL = errors.New("howdah: invalid TTL")

	// ErrCacheNotFound says that no cache of that name exists; make it with
	// SELECT howdah.create_cache('name') or DB.CreateCache.
	ErrCacheNotFound = errors.New("howdah: cache not found")

	// ErrCacheExists says that CreateCache met a cache of that name.
	ErrCacheExists = errors.New("howdah: cache already exists")

	// ErrInvalidName says that a cache name is not lower-case letters, digits
	// and underscores, beginning with a letter, at most 48 long.
	ErrInvalidName = errors.New("howdah: invalid cache name")

	// ErrInvalidSetting says that CreateCache or AlterCache was given a
	// setting that the database refused.
	ErrInvalidSetting = errors.New("howdah: invalid cache setting")

	// ErrCacheInUse says that AlterCache or DropCache waited in vain for a
	// transaction that uses the cache. Nothing was changed.
	ErrCacheInUse = errors.New("howdah: cache in use")

	// ErrCollision says that another live key holds the slot of this key's
	// 63-bit hash, in a cache of class sync, which never evicts for that.
	// The chance is about n/2^63 for each new key of n.
	ErrCollision = errors.New("howdah: hash collision with another live key")

	// ErrOutOfMemory says that a cache with policy noeviction has no room
	// for a write.
	ErrOutOfMemory = errors.New("howdah: cache is over its budget and its policy is noeviction")

	// ErrOverloaded says that the queue of waiting calls is full. Nothing was sent.
	ErrOverloaded = errors.New("howdah: too many calls are waiting")

	// ErrUnavailable says that PostgreSQL could not be reached, or refused to
	// serve. Nothing was sent: any call may be repeated.
	ErrUnavailable = errors.New("howdah: database unavailable")

	// ErrUnknownOutcome says that the connection was lost, or the deadline
	// passed, after a write was sent: it may or may not have been applied.
	ErrUnknownOutcome = errors.New("howdah: outcome unknown, the write may have been applied")

	// ErrTimeout says that the call's deadline passed. It also matches
	// context.DeadlineExceeded.
	ErrTimeout = errors.New("howdah: deadline exceeded")

	// ErrSchemaMissing says that the database holds no Howdah schema, or one
	// too old for this program; run "howdah migrate".
	ErrSchemaMissing = errors.New("howdah: schema missing or too old")

	// ErrSchemaTooNew says that a newer Howdah has changed the schema in a
	// way this program cannot work with; upgrade the program.
	ErrSchemaTooNew = errors.New("howdah: schema is newer than this program")

	// ErrPermission says that the database role lacks a privilege; grant it
	// with "howdah migrate --runtime-role".
	ErrPermission = errors.New("howdah: permission denied")

	// ErrClosed says that the DB was closed.
	ErrClosed = errors.New("howdah: closed")

	// ErrWatch says that a key named in TxOptions.Watch has changed since its
	// version was read; the transaction did nothing.
	ErrWatch = errors.New("howdah: a watched key changed")
)
