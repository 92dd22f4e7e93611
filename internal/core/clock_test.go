package core

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// shiftedClock is the clock of a database beside that of this process.
type shiftedClock struct {
	t    *testing.T
	conn *pgx.Conn
}

// newShiftedClock gives a database a clock that can be moved, and returns it with the
// URL for programs that are to live by it.
func newShiftedClock(t *testing.T) (*shiftedClock, string) {
	t.Helper()
	url := pgtest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	c := &shiftedClock{t, conn}
	for _, sql := range []string{
		"CREATE SCHEMA clock",
		"CREATE TABLE clock.shift (by interval)",
		"INSERT INTO clock.shift VALUES ('0')",
		`CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
		 AS 'SELECT pg_catalog.statement_timestamp() + s.by FROM clock.shift AS s'`,
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER DATABASE "+pgx.Identifier{config.Database}.Sanitize()+" SET search_path = clock, pg_catalog")
	require.NoError(t, err)
	return c, url
}

// move sets how far the clock is ahead of that of this process.
func (c *shiftedClock) move(by string) {
	c.t.Helper()
	_, err := c.conn.Exec(c.t.Context(), "UPDATE clock.shift SET by = $1::text::interval", by)
	require.NoError(c.t, err)
}

// Fields of hashes expire by the clock of the database, however wrong that of a process
// is, also where the hash is read from memory.
func TestFieldsExpireByTheDatabase(t *testing.T) {
	t.Parallel()
	clock, url := newShiftedClock(t)
	for name, db := range map[string]*DB{"plain": openDB(t, url), "near": openNear(t, url)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			clock.move("0")
			require.NoError(t, db.CreateCache(ctx, CacheConfig{Name: name, Near: name == "near"}))
			cache, key := db.Cache(name), []byte("h")
			edit := func(field string) {
				t.Helper()
				_, err := cache.HEdit(ctx, key, HChange{Set: map[string][]byte{field: nil, "stays": nil}})
				require.NoError(t, err)
				require.NoError(t, cache.HExpire(ctx, key, field, 30*time.Minute))
			}
			fields := func() int {
				t.Helper()
				if name == "near" {
					recall(t, cache, "h")
				}
				all, err := cache.HGetAll(ctx, key)
				require.NoError(t, err)
				return len(all)
			}
			_, err := cache.HEdit(ctx, []byte("other"), HChange{Set: map[string][]byte{"stays": nil}})
			require.NoError(t, err)
			edit("a")
			require.Equal(t, 2, fields())
			clock.move("1 h")
			_, err = cache.HIncrement(ctx, []byte("other"), "n", 1, 0) // tells the time to what reads from memory
			require.NoError(t, err)
			require.Equal(t, 1, fields(), "expired by the database")
			_, err = cache.HTTL(ctx, key, "a")
			require.ErrorIs(t, err, fault.ErrMiss)

			clock.move("-1 h")
			_, err = cache.HEdit(ctx, key, HChange{Remove: []string{"a"}})
			require.NoError(t, err)
			edit("b")
			require.Equal(t, 2, fields(), "not expired by the database")
			left, err := cache.HTTL(ctx, key, "b")
			require.NoError(t, err)
			require.InDelta(t, 30*time.Minute, left, float64(5*time.Minute))
		})
	}
}
