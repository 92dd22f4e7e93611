package contract

import (
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/near"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
	"github.com/stretchr/testify/require"
)

// Memory holds collections, for those who read any kind. Others learn from it that there
// is one, and do not drive it out.
func TestCollectionsInMemory(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenNear(t, pgtest.New(t))
	c := db.Cache("near")
	f := &fixture{T: t, Cache: c}
	version := f.collection("h", aHash, "packed")
	recalled := func(call *verb.Call) *verb.Call {
		call.Key = []byte("h")
		dbtest.Eventually(t, "memory answers", func() bool { return f.do(call).Recalled })
		return call
	}
	want := verb.Entry{Found: true, Value: []byte("packed"), Length: 6, Version: version, Kind: aHash}
	require.Equal(t, want, lasting(recalled(&verb.Call{Verb: statement.Get, AnyKind: true}).Result))
	require.Equal(t, want, lasting(recalled(&verb.Call{Verb: statement.GetEntry, AnyKind: true, Recall: true}).Result))
	require.Equal(t, verb.WrongType, recalled(&verb.Call{Verb: statement.Get}).Status)

	for again := true; again; { // if the lease lapses, be it in the reads in between
		lapsed := dbtest.Memory(db).Lapsed
		recalled(&verb.Call{Verb: statement.Get, AnyKind: true})
		for range 3 { // PostgreSQL answers these
			_, err := c.Get(t.Context(), "h")
			require.ErrorIs(t, err, howdah.ErrWrongType)
			_, err = c.GetAppend(t.Context(), nil, "h")
			require.ErrorIs(t, err, howdah.ErrWrongType)
			_, err = c.Fetch(t.Context(), "h", time.Hour, nil, howdah.FetchOptions{})
			require.ErrorIs(t, err, howdah.ErrWrongType)
		}
		call := f.do(&verb.Call{Verb: statement.Get, Key: []byte("h"), AnyKind: true})
		again = !call.Recalled && dbtest.Memory(db).Lapsed > lapsed
		require.True(t, call.Recalled || again, "the reads in between have dropped the entry")
	}

	// Of a batch, memory answers the strings before the collection.
	for _, key := range []string{"a", "b"} {
		require.NoError(t, c.Set(t.Context(), key, []byte(key), 0))
		dbtest.Warm(t, c, key)
	}
	recalled(&verb.Call{Verb: statement.Get, AnyKind: true})
	var entries [near.Batch]near.Entry
	dbtest.Eventually(t, "memory answers", func() bool {
		hits, run := (*core.Cache)(c).Recall([][]byte{[]byte("a"), []byte("h"), []byte("b")}, &entries, 1<<20)
		require.Contains(t, []int{0, 1}, run)
		require.Zero(t, hits&2)
		return run == 1
	})
	require.Equal(t, "a", string(entries[0].Value))

	// A write ends the kind, too.
	require.NoError(t, c.Set(t.Context(), "h", []byte("v"), 0))
	f.holds("h", []byte("v"))
	dbtest.Warm(t, c, "h")
	require.Zero(t, recalled(&verb.Call{Verb: statement.Get, AnyKind: true}).Result.Kind)
}
