package schema_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Two caches exchange their entries with all that belongs to them, and keep their
// settings.
func TestSwapCaches(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('a', prefix_index => true, max_ttl => '1 h'), howdah.create_cache('b', prefix_index => true)")
	run(t, db, "SELECT howdah.set_tagged('a', 'k', 'of a', '{t}'), howdah.set('a', 'x', '1', '10 min'), howdah.set('b', 'k', 'of b'), howdah.set_tagged('b', 'y', '1', '{t}')")
	version := one[int64](t, db, "SELECT version FROM howdah.get_entry('a', 'k')")
	former := []string{table(t, db, "a"), table(t, db, "b")}
	run(t, db, "SELECT howdah.swap_caches('a', 'b')")

	require.Equal(t, "ky", keysOf(t, db, "a"))
	require.Equal(t, "kx", keysOf(t, db, "b"))
	require.Equal(t, "of b", one[string](t, db, "SELECT howdah.get_text('a', 'k')"))
	require.Equal(t, version, one[int64](t, db, "SELECT version FROM howdah.get_entry('b', 'k')"))
	require.Equal(t, "of a", one[string](t, db, "SELECT convert_from(value, 'UTF8') FROM howdah.cache_b WHERE key = 'k'"), "the view")
	require.True(t, one[bool](t, db, "SELECT howdah.ttl('b', 'x') BETWEEN '9 min' AND '10 min'"))
	require.Equal(t, "01:00:00", one[string](t, db, "SELECT max_ttl::text FROM howdah_internal.cache WHERE name = 'a'"), "the settings stay")
	for _, name := range former {
		refused(t, db, "42P01", "SELECT FROM "+name) // a program must notice
	}
	run(t, db, "SELECT howdah.invalidate_tag('b', 't')")
	require.Equal(t, "ky", keysOf(t, db, "a"), "of the other cache")
	require.Equal(t, "x", keysOf(t, db, "b"))

	run(t, db, "SELECT howdah.swap_caches('a', 'b'), howdah.swap_caches('b', 'a'), howdah.swap_caches('b', 'a'), howdah.swap_caches('a', 'a')")
	require.Equal(t, "x", keysOf(t, db, "a"))
	require.Equal(t, "ky", keysOf(t, db, "b"))
	run(t, db, "SELECT howdah.set('a', 'n', '1'), howdah.delete_prefix('b', ''), howdah.drop_cache('a')")
	require.Empty(t, keysOf(t, db, "b"))
}

// What upkeep found in a table goes with the table.
func TestSwapKeepsEstimates(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('a', max_entries => 100), howdah.create_cache('b', max_entries => 100)")
	run(t, db, "SELECT howdah.set_many('a', '{k,l,m}', '{1,1,1}')")
	run(t, db, "SELECT howdah.maintain('a'), howdah.maintain('b')")
	run(t, db, "SELECT howdah.swap_caches('b', 'a')")
	require.Equal(t, []int64{0, 3}, all[int64](t, db, "SELECT entries FROM howdah.upkeep WHERE cache IN ('a', 'b') ORDER BY cache"))
}

func TestSwapIsRefused(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('a'), howdah.create_cache('n', near => true), howdah.create_cache('w')")
	run(t, db, "CREATE TABLE public.article (id int); SELECT howdah.watch_table('public.article', 'w', $$'article:' || id$$)")
	for _, other := range []string{"s", "n", "w"} {
		refused(t, db, "HW004", "SELECT howdah.swap_caches('a', $1)", other)
	}
	refused(t, db, "HW001", "SELECT howdah.swap_caches('a', 'none')")
	refused(t, db, "HW002", "SELECT howdah.swap_caches('a', NULL)")

	run(t, db, "SELECT howdah.set('a', 'k', '1')")
	tx, err := db.Begin(ctx(t))
	require.NoError(t, err)
	defer tx.Rollback(ctx(t))
	run(t, tx, "SELECT howdah.get('c', 'k')")
	refused(t, db, "55P03", "SELECT howdah.swap_caches('a', 'c')")
	require.Equal(t, "k", keysOf(t, db, "a"), "nothing changed")
}

// The owner lets a role swap by a grant, and the role's rights on the tables stay.
func TestRoleSwaps(t *testing.T) {
	t.Parallel()
	databaseURL := newDatabase(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "swapper")
	run(t, owner, "SELECT howdah.create_cache('a'), howdah.create_cache('c')")
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	run(t, app, "SELECT howdah.set('a', 'k', '1')")
	refused(t, app, "42501", "SELECT howdah.swap_caches('a', 'c')")
	run(t, owner, "GRANT EXECUTE ON FUNCTION howdah.swap_caches(text, text) TO "+pgx.Identifier{role}.Sanitize())
	run(t, app, "SELECT howdah.swap_caches('a', 'c')")
	require.Equal(t, "k", keysOf(t, app, "c"))
	run(t, app, "SELECT howdah.flush('c'), howdah.set('a', 'k', '2')")
	run(t, app, "SELECT FROM howdah.cache_a")
}
