package schema_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// People look at a cache through its view, which shows what is live, hides what
// statements need, and cannot be written, not even by the owner.
func TestViewOfACache(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set_many('c', '{a,b}', '{1,2}', '1 hour'), howdah.set('c', 'c', '3')")
	expireNow(t, db, "c", "b")
	require.Equal(t, []string{"a=1 f", "c=3 t"}, all[string](t, db,
		"SELECT format('%s=%s %s', encode(key, 'escape'), encode(value, 'escape'), expires_at IS NULL) FROM howdah.cache_c ORDER BY key"))
	require.Equal(t, []string{"key", "value", "kind", "version", "expires_at", "accessed_at", "frequency"}, all[string](t, db,
		"SELECT attname::text FROM pg_attribute WHERE attrelid = 'howdah.cache_c'::regclass AND attnum > 0 ORDER BY attnum"))

	for _, sql := range []string{
		"INSERT INTO howdah.cache_c (key, value) VALUES ('k', 'v')", "UPDATE howdah.cache_c SET value = 'x'", "DELETE FROM howdah.cache_c",
		"DELETE FROM howdah.cache_c WHERE key = 'a'",
	} {
		_, err := db.Exec(ctx(t), sql)
		require.Equal(t, "55000", state(err), "%s: %v", sql, err)
		require.ErrorContains(t, err, "The view howdah.cache_c shows a cache and cannot be written.")
	}
	require.Equal(t, 2, one[int](t, db, "SELECT count(*) FROM howdah.cache_c"))
	// The statements of schema 5 need the hash.
	for _, sql := range []string{"SELECT hash, key, value FROM howdah.cache_c", "INSERT INTO howdah.cache_c AS t (hash, key) VALUES (1, 'k')"} {
		refused(t, db, "42703", sql)
	}
	refused(t, db, "HW015", "SELECT durability, full_since IS NOT NULL FROM howdah.cache WHERE name = 'c'")

	run(t, db, "SELECT howdah.drop_cache('c')")
	refused(t, db, "42P01", "SELECT FROM howdah.cache_c")
}

// A statement that was made for a table finds it gone when the cache was
// dropped and made again.
func TestEachCacheThatIsMadeHasATableOfItsOwn(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := table(t, db, "c")
	run(t, db, "SELECT howdah.drop_cache('c'), howdah.create_cache('c')")
	require.NotEqual(t, first, table(t, db, "c"))
	refused(t, db, "42P01", "SELECT FROM "+first)
	require.Equal(t, []string{}, all[string](t, db, "SELECT name FROM howdah_internal.cache WHERE features <> '{kinds}'"))
}

func TestNothingInternalIsListed(t *testing.T) {
	t.Parallel()
	db := open(t)
	require.Empty(t, all[string](t, db, "SELECT proname::text FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace AND proname LIKE '\\_%'"))
	require.Empty(t, all[string](t, db, "SELECT relname::text FROM pg_class WHERE relnamespace = 'howdah'::regnamespace AND relkind = 'r' AND relname LIKE 'cache%'"))
	require.Empty(t, all[string](t, db, `
		SELECT format('%s to %s', n.nspname, a.grantee::regrole)
		FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
		WHERE n.nspname LIKE 'howdah%' AND a.grantee <> n.nspowner`), "usable by nobody but by grant")
}

// leased marks the row of a key as one that may be served stale for an hour and
// is being loaded.
func leased(t *testing.T, db querier, key string) {
	t.Helper()
	run(t, db, "UPDATE "+table(t, db, "c")+" SET kind = 7, stale_seconds = 3600, leased_until = statement_timestamp() + interval '1 minute' WHERE key = $1", []byte(key))
}

func marks(t *testing.T, db querier, key string) string {
	t.Helper()
	return one[string](t, db, "SELECT concat_ws('|', kind, stale_seconds, leased_until) FROM "+table(t, db, "c")+" WHERE key = $1", []byte(key))
}

// No statement that stores a value is forgotten here. A claim stores none: it moves
// into a slot that it finds free, or adds its lease to what is there.
func TestStatementsThatStoreSayFresh(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("statements/*.sql")
	require.NoError(t, err)
	stores := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if regexp.MustCompile(`DO UPDATE\s+SET [^;]*\bvalue\s+= `).Match(text) && file != "statements/claim.sql" {
			stores++
			require.Contains(t, string(text), "{fresh}", file)
		}
	}
	require.GreaterOrEqual(t, stores, 13)
}

// Whatever stores a value leaves nothing of what belonged to the old one.
func TestAStoredValueIsFresh(t *testing.T) {
	t.Parallel()
	db := open(t)
	versionOf(t, db, "c")
	const fresh = "0|0|-infinity"
	hash := fmt.Sprint(one[int64](t, db, "SELECT howdah.key_hash('k')"))
	many := "(ARRAY[" + hash + "], ARRAY['k'::bytea], "
	single := "(" + hash + ", 'k', "
	writes := map[string]string{}
	for name, args := range map[string]string{
		"set": many + "'{1}', '{NULL}')", "set_version": many + "'{1}', '{NULL}')", "set_keep": many + "'{1}', '{NULL}')",
		"append": many + "'{1}', '{NULL}', 100)", "increment": many + "'{1}', '{NULL}')", "increment_float": many + "'{1}', '{NULL}')",
		"replace": many + "'{1}', '{NULL}', '{f}', '{NULL}', '{0}')", "set_one": single + "'1', NULL)",
		"replace_version": many + "'{1}', ARRAY[version_of('k')], '{0}')",
		"set_range":       single + "'1', NULL, 0)", "exchange": single + "'1', NULL, false, 0, NULL)",
		"set_near": many + "'{1}', '{NULL}')", "set_one_near": single + "'1', NULL)",
		"add": many + "'{1}', '{NULL}', '{0}')", "add_all": many + "'{1}', '{NULL}')",
		"commit": many + "'{1}', '{NULL}', ARRAY[version_of('k')], '{1}', '{0}')",
		"fulfil": many + "'{1}', '{NULL}', ARRAY[version_of('k')], '{0}')",
	} {
		writes["statement "+name] = "PREPARE p AS " + schema.Statement(name, schema.Table{Name: table(t, db, "c")}) + "; EXECUTE p " + args + "; DEALLOCATE p"
	}
	for _, call := range []string{
		"set('c', 'k', '1')", "set_many('c', '{k}', '{1}')", "add('c', 'k', '1')", "replace('c', 'k', '1')",
		"compare_and_set('c', 'k', version_of('k'), '1')", "increment('c', 'k')",
		"fulfil('c', 'k', version_of('k'), '1')",
	} {
		writes[call] = "SELECT howdah." + call
	}
	for name, sql := range writes {
		run(t, db, "SELECT howdah.set('c', 'k', '1')")
		require.Equal(t, fresh, marks(t, db, "k"))
		leased(t, db, "k")
		if strings.Contains(name, "add") {
			expireNow(t, db, "c", "k")
		}
		if regexp.MustCompile("append|increment|set_range|exchange|fulfil").MatchString(name) { // takes strings alone
			run(t, db, "UPDATE "+table(t, db, "c")+" SET kind = 0")
		}
		execute(t, db, sql)
		require.Equal(t, fresh, marks(t, db, "k"), name)
	}

	// What only moves the expiry keeps them, but for a lease whose token it voids.
	leased(t, db, "k")
	before := marks(t, db, "k")
	run(t, db, "SELECT howdah.touch('c', 'k', '1 h')")
	require.Equal(t, before, marks(t, db, "k"))
	for _, call := range []string{"expire('c', 'k', '2 h')", "persist('c', 'k')"} {
		leased(t, db, "k")
		run(t, db, "SELECT howdah."+call)
		require.Equal(t, "7|3600|-infinity", marks(t, db, "k"), call)
	}
}

// execute runs several statements on one connection.
func execute(t *testing.T, db *pgxpool.Pool, sql string) {
	t.Helper()
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	require.NoError(t, conn.Conn().PgConn().Exec(ctx(t), sql).Close(), sql)
}

// Upkeep leaves an expired row while it may be served stale, and while somebody
// holds the lease to load it, and no longer. Readers do not see it all the while.
func TestMaintainSparesStaleAndLeasedRows(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.set_many('c', '{gone,stale,stalest,leased,claimed,absent}', '{1,1,1,1,1,1}')")
	set := func(key, what string) {
		run(t, db, "UPDATE "+table(t, db, "c")+" SET "+what+" WHERE key = $1", []byte(key))
	}
	rows := func() []string {
		run(t, db, "SELECT howdah.maintain('c')")
		return all[string](t, db, "SELECT encode(key, 'escape') FROM "+table(t, db, "c")+" ORDER BY key")
	}
	set("gone", "expires_at = statement_timestamp()")
	set("stale", "expires_at = statement_timestamp() - interval '1 minute', stale_seconds = 3600")
	set("stalest", "expires_at = statement_timestamp() - interval '1 minute', stale_seconds = 60")
	set("leased", "expires_at = statement_timestamp(), leased_until = statement_timestamp() + interval '1 hour'")
	set("claimed", "expires_at = '-infinity', leased_until = statement_timestamp() + interval '1 hour'")
	set("absent", "expires_at = '-infinity', stale_seconds = -1, leased_until = statement_timestamp() + interval '1 hour'")
	require.Equal(t, []string{"absent", "claimed", "leased", "stale"}, rows())
	require.Zero(t, one[int](t, db, "SELECT howdah.count('c')"))
	set("stale", "stale_seconds = 59")
	set("leased", "leased_until = statement_timestamp()")
	set("claimed", "leased_until = statement_timestamp()")
	set("absent", "leased_until = statement_timestamp()")
	require.Empty(t, rows())
}

// A budget takes live entries, and no lease: whoever loads may store.
func TestABudgetTakesNoLease(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, "SELECT howdah.alter_cache('c', max_entries => 1, eviction => 'allkeys-random')")
	token := wins(t, db, "claimed")
	run(t, db, "SELECT howdah.set_many('c', '{1,2,3,4,5,6,7,8,9}', '{1,1,1,1,1,1,1,1,1}')")
	require.Eventually(t, func() bool {
		run(t, db, "SELECT howdah.maintain('c')")
		return one[int](t, db, "SELECT howdah.count('c')") == 0 // the lease counts too
	}, time.Minute, time.Millisecond)
	require.NotNil(t, one[*int64](t, db, "SELECT howdah.fulfil('c', 'claimed', $1, 'v')", token))
}
