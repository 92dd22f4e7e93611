package schema_test

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

func saveScript(t *testing.T, db querier, source string, most, bytes int) {
	t.Helper()
	sum := sha1.Sum([]byte(source))
	run(t, db, schema.Query("script_save"), sum[:], []byte(source), most, bytes)
}

func scriptSources(t *testing.T, db querier) []string {
	t.Helper()
	return all[string](t, db, "SELECT convert_from(source, 'UTF8') FROM howdah_internal.script ORDER BY loaded_at, 1")
}

// Where there are too many scripts, those loaded longest ago are removed. One that is
// loaded again within a day is not written again.
func TestScriptsAreBounded(t *testing.T) {
	t.Parallel()
	db := open(t)
	for i := range 5 {
		saveScript(t, db, fmt.Sprint("return ", i), 3, 1000)
	}
	require.Equal(t, []string{"return 2", "return 3", "return 4"}, scriptSources(t, db))
	tuple := "SELECT ctid::text FROM howdah_internal.script WHERE source = 'return 2'"
	before := one[string](t, db, tuple)
	saveScript(t, db, "return 2", 3, 1000)
	require.Equal(t, before, one[string](t, db, tuple))

	run(t, db, "UPDATE howdah_internal.script SET loaded_at = loaded_at - interval '2 days'")
	saveScript(t, db, "return 2", 3, 1000)
	require.Equal(t, []string{"return 3", "return 4", "return 2"}, scriptSources(t, db))
	saveScript(t, db, "return 5", 10, 20)
	require.Equal(t, []string{"return 2", "return 5"}, scriptSources(t, db), "20 bytes hold two")
	long := "return '" + strings.Repeat("x", 5000) + "'"
	saveScript(t, db, long, 10, 20)
	require.Equal(t, []string{long}, scriptSources(t, db), "one alone may be larger")

	// A text that is not that of the SHA-1 is replaced.
	run(t, db, "UPDATE howdah_internal.script SET source = 'planted'")
	saveScript(t, db, long, 10, 20)
	require.Equal(t, []string{long}, scriptSources(t, db))
	refused(t, db, "23514", schema.Query("script_save"), []byte("short"), []byte("x"), 10, 20)
	refused(t, db, "23514", schema.Query("script_save"), make([]byte, 20), make([]byte, 1<<20+1), 10, 20)
}

// Servers that save scripts at once do not wait for each other for ever, and keep about
// as many as they may.
func TestScriptsAreSavedAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t)
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for j := range 25 {
				source := fmt.Sprintf("return %d + %d", i, j)
				sum := sha1.Sum([]byte(source))
				if _, err := db.Exec(ctx(t), schema.Query("script_save"), sum[:], []byte(source), 10, 100000); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	saveScript(t, db, "return 'last'", 10, 100000)
	require.Equal(t, 10, one[int](t, db, "SELECT count(*) FROM howdah_internal.script"))
}

// A change of the libraries that was decided by another state does nothing.
func TestFunctionChangesAreGuarded(t *testing.T) {
	t.Parallel()
	db := open(t)
	state := func() string { return one[string](t, db, "SELECT functions::text FROM howdah_internal.script_state") }
	first := state()
	second := one[string](t, db, schema.Query("function_save"), first, []string{"lib"}, [][]byte{[]byte("x")}, false)
	require.NotEqual(t, first, second)
	require.Equal(t, second, state())
	for name, args := range map[string][]any{
		"function_save": {first, []string{"lib", "more"}, [][]byte{[]byte("y"), []byte("z")}, true}, "function_delete": {first, "lib"},
	} {
		require.Empty(t, all[string](t, db, schema.Query(name), args...), name)
	}
	require.Equal(t, "x", one[string](t, db, "SELECT convert_from(source, 'UTF8') FROM howdah_internal.function_library"))
	require.Equal(t, second, state())
	third := one[string](t, db, schema.Query("function_delete"), second, "lib")
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.function_library"))
	fourth := one[string](t, db, schema.Query("function_save"), third, []string{"lib"}, [][]byte{[]byte("x")}, false)
	run(t, db, schema.Query("function_save"), fourth, []string{"more"}, [][]byte{[]byte("y")}, true)
	require.Equal(t, []string{"more"}, all[string](t, db, "SELECT name FROM howdah_internal.function_library"))
	run(t, db, schema.Query("function_save"), state(), []string{}, [][]byte{}, true)
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM howdah_internal.function_library"))
}

// A role that was granted to may do what the server does, and no more; one that was not
// cannot plant a script. What was granted can be taken back.
func TestRightsOfScripts(t *testing.T) {
	t.Parallel()
	databaseURL := pgtest.New(t)
	owner := connect(t, databaseURL)
	role, app := newRole(t, databaseURL, "app")
	_, other := newRole(t, databaseURL, "other")
	run(t, connect(t, pgtest.SuperURL(databaseURL)), `GRANT USAGE ON SCHEMA howdah, howdah_internal TO PUBLIC`)
	plants := []string{
		"INSERT INTO howdah_internal.script (sha1, source) VALUES (decode(repeat('ab', 20), 'hex'), 'x')", "UPDATE howdah_internal.script SET source = 'x'",
		"INSERT INTO howdah_internal.function_library VALUES ('lib', 'x')", "UPDATE howdah_internal.function_library SET source = 'x'",
		"UPDATE howdah_internal.script_state SET functions = gen_random_uuid()", "SELECT source FROM howdah_internal.script",
		"SELECT source FROM howdah_internal.function_library", "DELETE FROM howdah_internal.script",
	}
	for _, sql := range plants {
		refused(t, other, "42501", sql)
		refused(t, app, "42501", sql)
	}
	run(t, owner, "SELECT howdah.grant_runtime($1)", role)
	saveScript(t, app, "return 1", 10, 1000)
	run(t, owner, "UPDATE howdah_internal.script SET loaded_at = '-infinity'")
	saveScript(t, app, "return 1", 10, 1000)
	saveScript(t, app, "return 2", 1, 1000)
	require.Equal(t, []string{"return 2"}, scriptSources(t, app))
	run(t, app, schema.Query("script_find"), make([]byte, 20))
	run(t, app, schema.Query("script_exists"), [][]byte{make([]byte, 20)})
	run(t, app, schema.Query("functions"))
	state := one[string](t, app, "SELECT functions::text FROM howdah_internal.script_state")
	state = one[string](t, app, schema.Query("function_save"), state, []string{"lib"}, [][]byte{[]byte("x")}, false)
	state = one[string](t, app, schema.Query("function_save"), state, []string{"lib"}, [][]byte{[]byte("y")}, false)
	state = one[string](t, app, schema.Query("function_delete"), state, "lib")
	run(t, app, schema.Query("function_save"), state, []string{}, [][]byte{}, true)
	run(t, app, schema.Query("script_flush"))
	require.Empty(t, scriptSources(t, app))
	for _, sql := range []string{
		"UPDATE howdah_internal.script SET sha1 = sha1", "UPDATE howdah_internal.function_library SET name = name", "TRUNCATE howdah_internal.script",
		"INSERT INTO howdah_internal.script_state DEFAULT VALUES", "DELETE FROM howdah_internal.script_state", "DROP TABLE howdah_internal.script",
		"CREATE TRIGGER t BEFORE INSERT ON howdah_internal.script EXECUTE FUNCTION suppress_redundant_updates_trigger()",
	} {
		refused(t, app, "42501", sql)
	}
	run(t, owner, "SELECT howdah.revoke_runtime($1)", role)
	for _, sql := range plants {
		refused(t, app, "42501", sql)
	}
}

// What others may create in public runs in none of these statements.
func TestDecoysOfScripts(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := connect(t, url)
	pgtest.Decoys(t, url, "queries/script_*.sql", "queries/function*.sql")
	saveScript(t, db, "return 1", 10, 1000)
	saveScript(t, db, "return 2", 1, 1000)
	run(t, db, schema.Query("script_find"), make([]byte, 20))
	run(t, db, schema.Query("script_exists"), [][]byte{make([]byte, 20)})
	run(t, db, schema.Query("script_state"))
	run(t, db, schema.Query("script_flush"))
	var state string
	require.NoError(t, db.QueryRow(ctx(t), schema.Query("functions")).Scan(&state, nil, nil))
	state = one[string](t, db, schema.Query("function_save"), state, []string{"lib"}, [][]byte{[]byte("x")}, false)
	state = one[string](t, db, schema.Query("function_delete"), state, "lib")
	run(t, db, schema.Query("function_save"), state, []string{}, [][]byte{}, true)
}
