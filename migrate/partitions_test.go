package migrate_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/schema"
)

// divide is Up with a number of partitions.
func divide(conn *pgx.Conn, number int) (migrate.Result, error) {
	return migrate.Up(context.Background(), conn, migrate.Options{Partitions: number})
}

// A new database gets its partitions with the schema, and keeps them; so does one that is
// there, as long as it has no entries.
func TestPartitions(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"new": pgtest.Empty(t), "there": pgtest.New(t)} {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, url)
			if name == "there" {
				run(t, conn, "SELECT howdah.create_cache('pages', max_entries => 400, near => true)")
			}
			before, err := migrate.ReadStatus(ctx(t), conn)
			require.NoError(t, err)
			require.Zero(t, before.Partitions)

			result, err := divide(conn, 4)
			require.NoError(t, err)
			require.True(t, result.Divided)
			require.Equal(t, 4, result.Partitions)
			require.Equal(t, schema.Latest(), result.To)
			after, err := migrate.ReadStatus(ctx(t), conn)
			require.NoError(t, err)
			require.Equal(t, 4, after.Partitions)
			if name == "there" {
				require.Equal(t, before.Caches, after.Caches)
				require.Equal(t, int64(400), one[int64](t, conn, "SELECT max_entries FROM howdah.caches() WHERE name = 'pages'"))
			}
			require.Equal(t, 4, one[int](t, conn, "SELECT count(*) FROM howdah_internal.cache WHERE whole = 'db0'"))
			run(t, conn, "SELECT howdah.set('db0', 'k', 'v')")

			kept := migrate.Result{From: schema.Latest(), To: schema.Latest(), Partitions: 4}
			require.Equal(t, kept, up(t, conn), "without a number it stays")
			again, err := divide(conn, 4)
			require.NoError(t, err)
			require.Equal(t, kept, again)
			require.Equal(t, "v", one[string](t, conn, "SELECT convert_from(howdah.get('db0', 'k'), 'UTF8')"))
			removed, err := migrate.Uninstall(ctx(t), conn, false)
			require.NoError(t, err, "all that is there is Howdah's")
			require.NotEmpty(t, removed)
		})
	}
}

// What cannot be divided is told in a sentence, and stays as it was.
func TestPartitionsRefused(t *testing.T) {
	t.Parallel()
	empty := connect(t, pgtest.Empty(t))
	for _, number := range []int{-2, 1, 3, 48, 128} {
		_, err := divide(empty, number)
		require.ErrorIs(t, err, migrate.ErrPartitions)
		require.EqualError(t, err, fmt.Sprintf("%d is no number of partitions: give 2, 4, 8, 16, 32 or 64", number))
		_, err = migrate.Print(ctx(t), empty, migrate.Options{Partitions: number})
		require.ErrorIs(t, err, migrate.ErrPartitions)
		_, err = migrate.Script(migrate.Options{Partitions: number})
		require.ErrorIs(t, err, migrate.ErrPartitions)
	}
	require.ErrorIs(t, migrate.Check(ctx(t), empty), migrate.ErrMissing, "nothing was installed")

	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('pages'), howdah.set('pages', 'k', 'v')")
	run(t, conn, "UPDATE howdah.meta SET functions_digest = 'another'")
	_, err := divide(conn, 4)
	require.ErrorIs(t, err, migrate.ErrPartitions)
	require.ErrorContains(t, err, "'pages'")
	require.ErrorContains(t, err, "howdah.flush")
	require.Equal(t, "another", one[string](t, conn, "SELECT functions_digest FROM howdah.meta"), "not even the functions were replaced")
	require.Equal(t, []string{"db0", "pages"}, column(t, conn, "SELECT name FROM howdah_internal.cache ORDER BY name"))
	require.Equal(t, "v", one[string](t, conn, "SELECT convert_from(howdah.get('pages', 'k'), 'UTF8')"))

	run(t, conn, "SELECT howdah.flush('pages')")
	_, err = divide(conn, 4)
	require.NoError(t, err)
	for _, number := range []int{2, 8} {
		_, err = divide(conn, number)
		require.ErrorIs(t, err, migrate.ErrPartitions)
		require.ErrorContains(t, err, "divided into 4 partitions")
	}
}

// Only the owner of the schema divides.
func TestPartitionsPrivileges(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	role, conn := newRole(t, databaseURL, "divider")
	_, err := divide(conn, 4)
	require.ErrorIs(t, err, migrate.ErrPermission)
	require.NoError(t, migrate.GrantRuntime(ctx(t), owner, role, true))
	_, err = divide(conn, 4)
	require.ErrorIs(t, err, migrate.ErrPermission)
	_, err = migrate.Up(ctx(t), conn, migrate.Options{})
	require.NoError(t, err, "there is nothing to do")
	status, err := migrate.ReadStatus(ctx(t), conn)
	require.NoError(t, err)
	require.Zero(t, status.Partitions)
}

// Of many that divide at the same time one does; those with another number learn of it.
func TestPartitionsAtOnce(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.Empty(t)
	errs := make(chan error, 8)
	for i := range cap(errs) {
		conn := connect(t, databaseURL)
		go func() {
			_, err := divide(conn, 2+2*(i%2))
			errs <- err
		}()
	}
	failed := 0
	for range cap(errs) {
		if err := <-errs; err != nil {
			require.ErrorIs(t, err, migrate.ErrPartitions)
			failed++
		}
	}
	require.Equal(t, cap(errs)/2, failed)
}
