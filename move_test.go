package howdah_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Whichever way an entry goes, its two places are locked in one order, by table
// and hash: while the first is held by somebody, nobody holds the second.
func TestTransfersLockInOneOrder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	db := dbtest.Open(t, url, nil)
	require.NoError(t, db.CreateCache(ctx, howdah.CacheConfig{Name: "db1"}))
	db0, db1 := db.Cache("db0"), db.Cache("db1")
	keys := []string{"a", "b"} // in the order of their hashes
	if dbtest.Number(t, db, "SELECT (howdah.key_hash('a') > howdah.key_hash('b'))::integer") == 1 {
		slices.Reverse(keys)
	}
	row := func(table, key string) string {
		return "SELECT FROM " + pgtest.Table(t, db.Pool(), table) + " WHERE key = '" + key + "' FOR UPDATE"
	}
	here, there := row("db0", keys[0]), row("db0", keys[1])
	for name, test := range map[string]struct {
		first, second string // the statements that lock them
		transfer      func() error
	}{
		"copy":         {here, there, func() error { return db0.Copy(ctx, keys[0], db0, keys[1], howdah.CopyOptions{Replace: true}) }},
		"copy back":    {here, there, func() error { return db0.Copy(ctx, keys[1], db0, keys[0], howdah.CopyOptions{Replace: true}) }},
		"rename":       {here, there, func() error { return db0.Rename(ctx, keys[0], keys[1], howdah.RenameOptions{}) }},
		"rename back":  {here, there, func() error { return db0.Rename(ctx, keys[1], keys[0], howdah.RenameOptions{}) }},
		"another":      {row("db0", "a"), row("db1", "a"), func() error { return db0.Copy(ctx, "a", db1, "a", howdah.CopyOptions{Replace: true}) }},
		"another back": {row("db0", "a"), row("db1", "a"), func() error { return db1.Copy(ctx, "a", db0, "a", howdah.CopyOptions{Replace: true}) }},
	} {
		t.Run(name, func(t *testing.T) {
			for _, cache := range []*howdah.Cache{db0, db1} {
				for _, key := range keys {
					require.NoError(t, cache.Set(ctx, key, []byte(key), 0))
				}
			}
			tx, err := db.Pool().Begin(ctx)
			require.NoError(t, err)
			defer tx.Rollback(context.Background())
			_, err = tx.Exec(ctx, test.first)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- test.transfer() }()
			dbtest.AwaitLockWaits(t, url, 1)
			_, err = tx.Exec(ctx, test.second+" NOWAIT")
			require.NoError(t, err)
			require.NoError(t, tx.Rollback(ctx))
			require.NoError(t, <-ended)
		})
	}
}

// Two processes, and two caches of one, copy and rename in opposite directions
// as fast as they can: each call does what it says, or finds nothing.
func TestTransfersInOppositeDirections(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url := pgtest.New(t)
	dbs := []*howdah.DB{dbtest.Open(t, url, nil), dbtest.Open(t, url, nil)}
	require.NoError(t, dbs[0].CreateCache(ctx, howdah.CacheConfig{Name: "db1"}))
	for name, transfer := range map[string]func(i int) error{
		"copies": func(i int) error {
			c := dbs[i].Cache("db0")
			keys := []string{"a", "b"}
			return c.Copy(ctx, keys[i], c, keys[1-i], howdah.CopyOptions{Replace: true})
		},
		"copies between caches": func(i int) error {
			caches := []*howdah.Cache{dbs[0].Cache("db0"), dbs[0].Cache("db1")}
			return caches[i].Copy(ctx, "a", caches[1-i], "a", howdah.CopyOptions{Replace: true})
		},
		"renames": func(i int) error {
			keys := []string{"one", "two"} // of which one is absent
			dbtest.Won(t, dbs[i].Cache("db0").Rename(ctx, keys[i], keys[1-i], howdah.RenameOptions{}))
			return nil
		},
		"moves": func(i int) error {
			caches := []*howdah.Cache{dbs[0].Cache("db0"), dbs[0].Cache("db1")}
			dbtest.Won(t, caches[i].Move(ctx, "moved", caches[1-i]))
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"a", "b", "one", "moved"} {
				require.NoError(t, dbs[0].Cache("db0").Set(ctx, key, []byte("v"), 0))
			}
			require.NoError(t, dbs[0].Cache("db1").Set(ctx, "a", []byte("v"), 0))
			dbtest.Exec(t, dbs[0], "DELETE FROM "+pgtest.Table(t, dbs[0].Pool(), "db0")+" WHERE key = 'two'")
			dbtest.Exec(t, dbs[0], "DELETE FROM "+pgtest.Table(t, dbs[0].Pool(), "db1")+" WHERE key = 'moved'")
			dbtest.Together(2, func(i int) {
				for range 200 {
					require.NoError(t, transfer(i))
				}
			})
			count := "SELECT (SELECT count(*) FROM " + pgtest.Table(t, dbs[0].Pool(), "db0") + " WHERE key = ANY ($1)) + (SELECT count(*) FROM " + pgtest.Table(t, dbs[0].Pool(), "db1") + " WHERE key = ANY ($1))"
			for _, one := range [][][]byte{{[]byte("one"), []byte("two")}, {[]byte("moved")}} {
				require.EqualValues(t, 1, dbtest.Number(t, dbs[0], count, one), "one it was, and one it is")
			}
		})
	}
}
