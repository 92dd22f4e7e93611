package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// poll is what the query "poll" answers: its state, and the rows of the log.
type poll struct {
	Snapshot    string
	Start       int64
	Incarnation *string
	Tick, Floor int64
	Stranded    bool
	Changes     []change
}

type change struct {
	Cache  int32
	Hashes []int64 // nil: all
}

// ask polls from a cursor: xmax, and what was in progress.
func ask(t testing.TB, q querier, xmax string, xip ...string) (p poll) {
	t.Helper()
	rows, err := q.Query(ctx(t), schema.Query("poll"), xmax, append([]string{}, xip...))
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var cache *int32
		var c change
		require.NoError(t, rows.Scan(&p.Snapshot, &p.Start, &p.Incarnation, &p.Tick, &p.Floor, &p.Stranded, &cache, &c.Hashes))
		if cache != nil {
			c.Cache = *cache
			p.Changes = append(p.Changes, c)
		}
	}
	require.NoError(t, rows.Err())
	return p
}

func TestPollAndNearReads(t *testing.T) {
	db := open(t)
	run(t, db, "SELECT howdah.create_cache('n', near => true)")
	hash := one[int64](t, db, "SELECT howdah.key_hash('k')")
	first := ask(t, db, "0")
	require.NotNil(t, first.Incarnation)
	require.Empty(t, first.Changes)

	run(t, db, "SELECT howdah.set('n', 'k', 'v', '1 h')")
	// Every answer has the row that says when the server was started.
	sql := schema.Statement("get_near", schema.Table{Name: table(t, db, "n")})
	for _, keys := range [][]int64{{hash}, {hash + 1}, {}} {
		rows, err := db.Query(ctx(t), "SELECT hash, (extract(epoch FROM start) * 1000000)::bigint FROM ("+sql+") AS r (hash, key, value, version, kind, expires_at, start)", keys)
		require.NoError(t, err)
		var hashes []*int64
		for rows.Next() {
			var found *int64
			var start int64
			require.NoError(t, rows.Scan(&found, &start))
			if hashes = append(hashes, found); found == nil {
				require.Equal(t, first.Start, start, "as a poll gives it")
			}
		}
		require.NoError(t, rows.Err())
		require.Nil(t, hashes[0])
		require.Equal(t, len(keys) > 0 && keys[0] == hash, len(hashes) == 2)
	}
}
