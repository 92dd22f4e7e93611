package howdah_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// A process that has invalidated a tag reads nothing older from its memory, in a
// transaction neither; another process drops what was invalidated within its bound.
func TestMemoryLosesInvalidatedEntries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db, other := dbtest.OpenNear(t, url), dbtest.OpenNear(t, url)
	c := db.Cache("near")
	tagged := howdah.SetOptions{Tags: []string{"t"}}
	require.NoError(t, c.SetWith(ctx, "k", []byte("old"), 0, tagged))
	dbtest.Warm(t, c, "k")
	dbtest.Warm(t, other.Cache("near"), "k")
	removed, err := c.InvalidateTag(ctx, "t")
	require.NoError(t, err)
	require.EqualValues(t, 1, removed)
	require.Empty(t, dbtest.Read(t, c, "k"))
	dbtest.Eventually(t, "the other process has dropped it", func() bool { return dbtest.Read(t, other.Cache("near"), "k") == "" })

	require.NoError(t, c.SetWith(ctx, "k", []byte("old"), 0, tagged))
	require.Equal(t, "old", dbtest.Read(t, c, "k"))
	dbtest.Warm(t, c, "k")
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	_, err = c.With(tx).InvalidateTag(ctx, "t")
	require.NoError(t, err)
	require.ErrorIs(t, c.SetWith(ctx, "k", []byte("older"), 0, tagged), howdah.ErrNotStored)
	require.NoError(t, tx.Commit(ctx))
	require.Empty(t, dbtest.Read(t, c, "k"))
}

// A move of an entry whose tag is being invalidated waits for the invalidation, and a
// moved entry has its tags.
func TestTransfersBesideAnInvalidation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "other"}))
	c := db.Cache("db0")
	tagged := howdah.SetOptions{Tags: []string{"t"}}
	for name, test := range map[string]struct {
		transfer func() error
		key      string
	}{
		"rename": {func() error { return c.Rename(ctx, "k", "j", howdah.RenameOptions{}) }, "j"},
		"copy":   {func() error { return c.Copy(ctx, "k", c, "j", howdah.CopyOptions{Replace: true}) }, "j"},
		"back":   {func() error { return c.Rename(ctx, "j", "k", howdah.RenameOptions{}) }, "k"},
	} {
		for _, commits := range []bool{true, false} {
			require.NoError(t, c.Flush(ctx))
			require.NoError(t, c.SetWith(ctx, "k", []byte("old"), time.Hour, tagged))
			require.NoError(t, c.SetWith(ctx, "j", []byte("old"), time.Hour, tagged))
			tx, err := db.Pool().Begin(ctx)
			require.NoError(t, err)
			_, err = c.With(tx).InvalidateTag(ctx, "t")
			require.NoError(t, err)
			moved := make(chan error, 1)
			go func() { moved <- test.transfer() }()
			if commits {
				require.NoError(t, tx.Commit(ctx))
				require.ErrorIs(t, <-moved, howdah.ErrMiss, name)
			} else {
				require.NoError(t, tx.Rollback(ctx))
				require.NoError(t, <-moved, name)
				require.Equal(t, "old", dbtest.Read(t, c, test.key), name)
			}
			_, err = c.InvalidateTag(ctx, "t")
			require.NoError(t, err)
			require.Empty(t, dbtest.Read(t, c, test.key), name)
		}
	}
	require.NoError(t, c.SetWith(ctx, "m", []byte("v"), 0, tagged))
	require.NoError(t, c.Move(ctx, "m", db.Cache("other")))
	removed, err := db.Cache("other").InvalidateTag(ctx, "t")
	require.NoError(t, err)
	require.EqualValues(t, 1, removed)
}

// Transactions of a snapshot are refused with a sentence, and may go on without tags.
func TestTagsInTransact(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	c := db.Cache("db0")
	for _, use := range []func(c *howdah.Cache) error{
		func(c *howdah.Cache) error { _, err := c.InvalidateTag(ctx, "t"); return err },
		func(c *howdah.Cache) error {
			return c.SetWith(ctx, "k", nil, 0, howdah.SetOptions{Tags: []string{"t"}})
		},
	} {
		err := db.Transact(ctx, howdah.TxOptions{}, func(_ context.Context, tx pgx.Tx) error { return use(c.With(tx)) })
		require.ErrorIs(t, err, howdah.ErrIsolation)
		require.ErrorContains(t, err, "READ COMMITTED")
	}
}

// An invalidation in a transaction that meets a lock for too long changes nothing.
func TestInvalidationMeetsALock(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := dbtest.Open(t, pgtest.New(t), nil)
	c := db.Cache("db0")
	require.NoError(t, c.SetWith(ctx, "k", []byte("v"), 0, howdah.SetOptions{Tags: []string{"t"}}))
	tx, err := db.Pool().Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.Background())
	require.NoError(t, c.With(tx).Set(ctx, "k", []byte("w"), 0))
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = c.InvalidateTag(short, "t")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	done := make(chan error, 1)
	go func() { _, err := c.InvalidateTag(ctx, "t"); done <- err }()
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, <-done)
	require.Empty(t, dbtest.Read(t, c, "k"))
}
