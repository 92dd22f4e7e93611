package schema_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// What comes next may rely on versions: a write gives a greater one than any
// the entry had, also when the clock of the database has gone back since.
func TestVersionsNeverFallWhenTheClockDoes(t *testing.T) {
	t.Parallel()
	const ahead = int64(9e18) // written when the clock was ahead
	many := "ARRAY[h], ARRAY[k], "
	statements := map[string]string{ // with the arguments after $1 and $2
		"set":             "'{1}', '{NULL}'",
		"set_version":     "'{1}', '{NULL}'",
		"set_keep":        "'{1}', '{NULL}'",
		"set_near":        "'{1}', '{NULL}'",
		"set_one":         "'1', NULL",
		"set_one_near":    "'1', NULL",
		"set_range":       "'1', NULL, 0",
		"append":          "'{1}', '{NULL}', 100",
		"increment":       "'{1}', '{NULL}'",
		"increment_float": "'{1}', '{NULL}'",
		"replace":         "'{1}', '{NULL}', '{f}', '{NULL}', '{0}'",
		"replace_version": fmt.Sprintf("'{1}', '{%d}', '{0}'", ahead),
		"exchange":        "'1', NULL, false, 0, NULL",
		"expire":          "'{3600000000}', '{0}'",
		"get_expire":      "'{3600000000}', '{0}'",
		"add":             "'{1}', '{NULL}', '{0}'",
		"add_all":         "'{1}', '{NULL}'",
		"commit":          fmt.Sprintf("'{1}', '{NULL}', '{%d}', '{1}', '{0}'", ahead),
	}
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	hash := one[int64](t, conn, "SELECT howdah.key_hash('k')")
	for _, refuse := range []bool{false, true} {
		for name, rest := range statements {
			run(t, conn, "SELECT howdah.set('c', 'k', '1')")
			run(t, conn, "UPDATE "+table(t, conn, "c")+" SET version = $1", ahead)
			if name == "add" || name == "add_all" { // these write in the slot of an expired entry
				expireNow(t, conn, "c", "k")
			}
			what := fmt.Sprintf("%s_%t", name, refuse)
			run(t, conn, "PREPARE "+what+" AS "+schema.Statement(name, schema.Table{Name: table(t, conn, "c"), RefuseCollision: refuse}))
			args := replaceAll(many, "h", fmt.Sprint(hash), "k", `'k'::bytea`)
			if name == "set_one" || name == "set_one_near" || name == "set_range" || name == "exchange" {
				args = fmt.Sprintf("%d, 'k', ", hash)
			}
			run(t, conn, "EXECUTE "+what+" ("+args+rest+")")
			require.Equal(t, ahead+1, one[int64](t, conn, "SELECT version FROM "+table(t, conn, "c")), what)
		}
	}
}
