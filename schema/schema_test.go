package schema_test

import (
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

var update = flag.Bool("update", false, "rewrite generated files")

var rows = flag.Int("rows", 20_000, "how many rows the tests of bulk changes of watched tables change")

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	for i, m := range schema.Migrations() {
		require.Equal(t, i+1, m.Version, m.Name)
		require.NotEmpty(t, m.Name)
		require.NotEmpty(t, m.SQL)
	}
	require.Equal(t, len(schema.Migrations()), schema.Latest())
}

// A program puts its functions back if they have its own number but another
// text. Released sets therefore need different numbers: when this test fails
// after a release, raise FunctionsVersion; then run go test ./schema -update.
func TestFunctionsVersionNamesOneText(t *testing.T) {
	t.Parallel()
	const name = "functions.sha256"
	want := fmt.Sprintf("%d %s\n", schema.FunctionsVersion, schema.FunctionsDigest())
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(want), 0o644))
	}
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "functions changed: see the comment of this test")
}

// What a table lacks for values out of line is told by what _create_table gives it.
func TestToastLacks(t *testing.T) {
	t.Parallel()
	db := open(t)
	const lacks = "SELECT coalesce(array_to_string(howdah_internal._toast_lacks(c), ', '), '') FROM howdah_internal.cache AS c WHERE c.name = 'c'"
	require.Empty(t, one[string](t, db, lacks))
	run(t, db, "ALTER TABLE "+table(t, db, "c")+" RESET (toast.vacuum_truncate), SET (toast.autovacuum_vacuum_cost_delay = 2)")
	require.Equal(t, "toast.autovacuum_vacuum_cost_delay=1, toast.vacuum_truncate=off", one[string](t, db, lacks))
	given := one[[]string](t, db, "SELECT s.reloptions FROM pg_class AS c JOIN pg_class AS s ON s.oid = c.reltoastrelid WHERE c.oid = $1::text::regclass", table(t, db, "s"))
	run(t, db, "ALTER TABLE "+table(t, db, "s")+" RESET ("+strings.Join(toastNames(given), ", ")+")")
	require.Equal(t, len(given), one[int](t, db, "SELECT cardinality(howdah_internal._toast_lacks(c)) FROM howdah_internal.cache AS c WHERE c.name = 's'"))
}

// toastNames are the names of storage parameters for values out of line.
func toastNames(options []string) (names []string) {
	for _, o := range options {
		name, _, _ := strings.Cut(o, "=")
		names = append(names, "toast."+name)
	}
	return names
}

// What is in the database is what is in the files, each function is explained,
// has one signature, and belongs to nobody but by grant.
func TestFunctionsOfTheDatabase(t *testing.T) {
	t.Parallel()
	db := open(t)
	var names []string
	for _, f := range schema.Functions() {
		names = append(names, f.Name)
		require.Equal(t, f.Name, one[string](t, db, "SELECT proname::text FROM pg_proc WHERE oid = $1::text::regprocedure", f.Signature))
		schema := "howdah."
		if f.Internal() {
			schema = "howdah_internal."
		}
		require.True(t, strings.HasPrefix(f.Signature, schema+f.Name+"("), f.Signature)
	}
	require.ElementsMatch(t, names, all[string](t, db,
		"SELECT proname::text FROM pg_proc WHERE pronamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace)"))
	require.Empty(t, all[string](t, db, `
		SELECT proname::text FROM pg_proc
		WHERE pronamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace) AND obj_description(oid, 'pg_proc') IS NULL`), "without comment")
	require.Empty(t, all[string](t, db, `
		SELECT proname::text FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS a
		WHERE pronamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace) AND a.grantee = 0`), "executable by PUBLIC")
	require.Equal(t, []string{"_apply_watches", "_here", "create_database", "swap_caches"}, all[string](t, db, `
		SELECT proname::text FROM pg_proc WHERE pronamespace IN ('howdah'::regnamespace, 'howdah_internal'::regnamespace) AND prosecdef
		ORDER BY proname`))
	// _here names the schema of each name and operator instead.
	require.Equal(t, 3, one[int](t, db, "SELECT count(*) FROM pg_proc WHERE prosecdef AND 'search_path=pg_catalog, pg_temp' = ANY (proconfig)"))
	text := regexp.MustCompile(`--.*|'[^']*'`).ReplaceAllString(one[string](t, db, "SELECT prosrc FROM pg_proc WHERE proname = '_here'"), "")
	text = regexp.MustCompile(`OPERATOR\(pg_catalog\.[^)]*\)|(ERRCODE|HINT) =`).ReplaceAllString(text, "")
	require.NotRegexp(t, `(?i)[=<>~|+*/-]|DISTINCT FROM|NULLIF|\bIN\b|BETWEEN|LIKE|CASE`, text, "operators of the caller's search_path")
}

// keyHash is the hash as a client computes it.
func keyHash(seed, key []byte) int64 {
	sum := sha256.Sum256(slices.Concat(seed, key))
	return int64(binary.BigEndian.Uint64(sum[:8]) & math.MaxInt64)
}

func TestKeyHashAgreesWithGo(t *testing.T) {
	t.Parallel()
	db := open(t)
	seed := one[[]byte](t, db, "SELECT seed FROM howdah.meta")
	require.Len(t, seed, 16)

	// Fixed vectors, so that neither side can change alone.
	zero := make([]byte, 16)
	for key, want := range map[string]int64{
		"":                        3983162290893594069,
		"key":                     9129919231670300302,
		"\x00\xff":                332661579677645831,
		strings.Repeat("k", 1000): 389531698069443528,
	} {
		require.Equal(t, want, keyHash(zero, []byte(key)), "%q", key)
		require.Equal(t, want, one[int64](t, db, "SELECT howdah_internal._hash($1, $2)", zero, []byte(key)), "%q", key)
	}

	var topBit int
	for i := range 500 {
		key := []byte(fmt.Sprintf("key:%d\x00\xff", i))
		require.Equal(t, keyHash(seed, key), one[int64](t, db, "SELECT howdah.key_hash($1)", key))
		if sum := sha256.Sum256(slices.Concat(seed, key)); sum[0] >= 0x80 {
			topBit++
		}
	}
	require.Positive(t, topBit, "some hashes must lose their top bit, or the test shows little")
}
