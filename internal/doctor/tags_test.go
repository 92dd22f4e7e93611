package doctor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/schema"
)

// A table of tags that is missing, or would not survive what the entries survive.
func TestTagTables(t *testing.T) {
	t.Parallel()
	conn := connect(t, pgtest.New(t))
	run(t, conn, "SELECT howdah.create_cache('s', durability => 'sync')")
	var id int32
	require.NoError(t, conn.QueryRow(ctx(t), "SELECT id FROM howdah_internal.cache WHERE name = 's'").Scan(&id))
	tags := "howdah_internal." + "tag_" + schema.TableName(id)[len("howdah_internal.cache_"):]
	run(t, conn, "ALTER TABLE "+tags+" SET UNLOGGED")
	repair(t, conn, conn, low, await(t, conn, low, "tags-durability", tags))
	run(t, conn, "DROP TABLE "+tags)
	repair(t, conn, conn, low, await(t, conn, low, "tags-missing", tags))
	run(t, conn, "SELECT howdah.set_tagged('s', 'k', 'v', '{t}')")
}
